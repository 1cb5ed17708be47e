package toolgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// decode reads JSON; numbers in an any are json.Number, with every digit. The error names the place by its path: not by
// line and column, since whoever gets to read it did not write this text.
func decode(text string, value any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(value); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("`%s`: a %s does not fit %s", wrong.Field, wrong.Value, wrong.Type)
		} else if wrong != nil {
			return fmt.Errorf("a %s does not fit %s", wrong.Value, wrong.Type)
		}
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one JSON document")
	}
	return nil
}

// The longest whole number that is written out, in digits.
const maxDigits = 39

// writeWholeNumbersAsIntegers is the JSON with every whole number written as an integer: JSON Schema takes 50.0 and 1e3
// for integers, encoding/json does not read them into integer fields.
func writeWholeNumbersAsIntegers(text string) string {
	var written bytes.Buffer
	for text != "" {
		start := strings.IndexAny(text, `"-0123456789`)
		if start < 0 {
			break
		}
		written.WriteString(text[:start])
		text = text[start:]
		end := 0
		if text[0] == '"' {
			end = stringEnd(text)
			written.WriteString(text[:end])
		} else {
			end = numberEnd(text)
			if integer, ok := integer(text[:end]); ok {
				written.WriteString(integer)
			} else {
				written.WriteString(text[:end])
			}
		}
		text = text[end:]
	}
	written.WriteString(text)
	return written.String()
}

func stringEnd(text string) int {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

func numberEnd(text string) int {
	end := strings.IndexFunc(text, func(c rune) bool { return !strings.ContainsRune("0123456789-+.eE", c) })
	if end < 0 {
		return len(text)
	}
	return end
}

// integer is the integer that equals a number; none where there is none, or where it is too long.
func integer(number string) (string, bool) {
	mantissa, exponent := number, 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		var err error
		mantissa = number[:at]
		if exponent, err = strconv.Atoi(strings.TrimPrefix(number[at+1:], "+")); err != nil || exponent > 1<<20 || exponent < -1<<20 {
			return "", false
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	significant := strings.TrimLeft(whole+fraction, "0")
	if significant == "" {
		return "0", true
	}
	// The value is significant followed by this many zeros.
	zeros := exponent - len(fraction)
	switch {
	case zeros > maxDigits || len(significant)+zeros > maxDigits:
		return "", false
	case zeros >= 0:
		significant += strings.Repeat("0", zeros)
	default:
		end := len(significant) + zeros
		if end <= 0 || strings.Trim(significant[end:], "0") != "" {
			return "", false
		}
		significant = significant[:end]
	}
	if negative {
		significant = "-" + significant
	}
	return significant, true
}
