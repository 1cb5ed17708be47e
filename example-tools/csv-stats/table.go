package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	toolgate "toolgate.local/sdk"
)

var delimiters = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t', "pipe": '|'}

// table is CSV data that is read row by row, so that a file may be larger than the memory.
type table struct {
	header []string
	reader *csv.Reader
	file   *os.File
}

func open(source source) (*table, error) {
	if err := source.check(); err != nil {
		return nil, err
	}
	table := &table{}
	var input io.Reader
	if source.Text != nil {
		input = strings.NewReader(*source.Text)
	} else {
		file, err := os.Open(*source.Path)
		if err != nil {
			return nil, err
		}
		table.file, input = file, file
	}
	buffered := bufio.NewReaderSize(input, 64<<10)
	if mark, _ := buffered.Peek(3); string(mark) == "\uFEFF" {
		_, _ = buffered.Discard(3)
	}
	comma, given := delimiters[source.Delimiter]
	if !given {
		comma = guess(buffered)
	}
	table.reader = csv.NewReader(buffered)
	table.reader.Comma = comma
	table.reader.ReuseRecord = true
	table.reader.TrimLeadingSpace = comma != '\t'
	header, err := table.reader.Read()
	if err != nil {
		table.close()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no data: a header line is needed")
		}
		return nil, wording(err)
	}
	for at, name := range header {
		if name = strings.TrimSpace(name); name == "" {
			name = fmt.Sprintf("column %d", at+1)
		}
		table.header = append(table.header, strings.Clone(name))
	}
	return table, nil
}

// guess is the delimiter that is most frequent in the first line.
func guess(input *bufio.Reader) rune {
	start, _ := input.Peek(input.Size())
	line, _, _ := strings.Cut(string(start), "\n")
	best, count := ',', 0
	for _, comma := range []rune{',', ';', '\t', '|'} {
		if found := strings.Count(line, string(comma)); found > count {
			best, count = comma, found
		}
	}
	return best
}

func (table *table) close() {
	if table.file != nil {
		_ = table.file.Close()
	}
}

// find is the position of a column, by its name or, where none has it, the name in another case.
func (table *table) find(name string) (int, error) {
	if at := slices.Index(table.header, name); at >= 0 {
		return at, nil
	}
	if at := slices.IndexFunc(table.header, func(other string) bool { return strings.EqualFold(other, name) }); at >= 0 {
		return at, nil
	}
	return 0, fmt.Errorf("there is no column %q; there are: %s", name, strings.Join(table.header, ", "))
}

// each goes through the rows and returns their number. The row is only valid during the call.
func (table *table) each(cx *toolgate.Context, visit func(row []string)) (int, error) {
	const report = 100_000
	for rows := 0; ; rows++ {
		row, err := table.reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return rows, wording(err)
		}
		visit(row)
		if rows%1000 == 999 {
			if err := cx.Err(); err != nil {
				return rows, err
			}
		}
		if rows%report == report-1 {
			cx.Update(toolgate.Textf("%d rows read", rows+1))
		}
	}
}

func wording(err error) error {
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		if errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("line %d has another number of fields than the header; is the delimiter right?", wrong.Line)
		}
		return fmt.Errorf("line %d, column %d: %w", wrong.Line, wrong.Column, wrong.Err)
	}
	return err
}
