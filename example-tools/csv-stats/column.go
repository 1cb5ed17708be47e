package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// Quartiles need all numbers of a column at once, in the 64 MiB that a plugin has by default.
	maxKept = 200_000
	// Beyond it, values are no longer told apart.
	maxDistinct = 10_000
)

// numbers sums up numbers as they come.
type numbers struct {
	count            int
	sum, lost        float64 // Kahan's summation
	mean, squares    float64 // Welford's
	least, most      float64
	leastIs, mostIs  string
	kept             []float64
	keep, keptEnough bool
}

func parseNumber(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "xXpP_nNiI") {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}

func (n *numbers) add(number float64, text string) {
	if n.count == 0 || number < n.least {
		n.least, n.leastIs = number, strings.Clone(strings.TrimSpace(text))
	}
	if n.count == 0 || number > n.most {
		n.most, n.mostIs = number, strings.Clone(strings.TrimSpace(text))
	}
	n.count++
	term := number - n.lost
	sum := n.sum + term
	n.lost = (sum - n.sum) - term
	n.sum = sum
	delta := number - n.mean
	n.mean += delta / float64(n.count)
	n.squares += delta * (number - n.mean)
	if n.keep && len(n.kept) < maxKept {
		n.kept = append(n.kept, number)
	} else if n.keep {
		n.keptEnough = true
	}
}

// numberSummary is what is said of numbers; the least and the greatest as they stand in the data.
type numberSummary struct {
	Count  int      `json:"count"`
	Min    string   `json:"min"`
	Max    string   `json:"max"`
	Sum    float64  `json:"sum"`
	Mean   float64  `json:"mean"`
	StdDev *float64 `json:"stdDev,omitempty"`
	Q1     *float64 `json:"q1,omitempty"`
	Median *float64 `json:"median,omitempty"`
	Q3     *float64 `json:"q3,omitempty"`
}

func (n *numbers) summary() *numberSummary {
	summary := &numberSummary{Count: n.count, Min: n.leastIs, Max: n.mostIs, Sum: round(n.sum), Mean: round(n.mean)}
	if n.count > 1 {
		summary.StdDev = new(round(math.Sqrt(n.squares / float64(n.count-1))))
	}
	if n.keep && !n.keptEnough && n.count > 0 {
		slices.Sort(n.kept)
		summary.Q1, summary.Median, summary.Q3 = new(quantile(n.kept, 0.25)), new(quantile(n.kept, 0.5)), new(quantile(n.kept, 0.75))
	}
	return summary
}

// quantile of sorted numbers, linear between neighbours.
func quantile(sorted []float64, at float64) float64 {
	place := at * float64(len(sorted)-1)
	below := int(place)
	if below+1 >= len(sorted) {
		return sorted[below]
	}
	return round(sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below]))
}

// round drops what is only an artefact of binary fractions.
func round(number float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 12, 64), 64)
	if err != nil || math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return math.MaxFloat64
	}
	return rounded
}

func (s *numberSummary) String() string {
	text := fmt.Sprintf("min %s, max %s, sum %s, mean %s", s.Min, s.Max, decimal(s.Sum), decimal(s.Mean))
	if s.StdDev != nil {
		text += ", standard deviation " + decimal(*s.StdDev)
	}
	if s.Median != nil {
		text += fmt.Sprintf(", quartiles %s %s %s", decimal(*s.Q1), decimal(*s.Median), decimal(*s.Q3))
	}
	return text
}

// decimal is a number without an exponent, as far as that is short.
func decimal(number float64) string {
	if size := math.Abs(number); size >= 1e15 || size > 0 && size < 1e-6 {
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

type column struct {
	name     string
	at       int
	count    int
	missing  int
	notANumb int
	numbers  numbers
	distinct map[string]int
	tooMany  bool
}

func newColumn(name string, at int) *column {
	return &column{name: name, at: at, numbers: numbers{keep: true}, distinct: map[string]int{}}
}

func (c *column) add(text string) {
	c.count++
	if strings.TrimSpace(text) == "" {
		c.missing++
		return
	}
	if number, ok := parseNumber(text); ok {
		c.numbers.add(number, text)
	} else {
		c.notANumb++
	}
	if times, known := c.distinct[text]; known {
		c.distinct[text] = times + 1
	} else if len(c.distinct) < maxDistinct {
		c.distinct[strings.Clone(text)] = 1
	} else {
		c.tooMany = true
	}
}

type frequency struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

type columnSummary struct {
	Name string `json:"name"`
	// number, text, mixed or empty.
	Type    string `json:"type" toolgate:"enum=number|text|mixed|empty"`
	Count   int    `json:"count"`
	Missing int    `json:"missing"`
	// Not given where there are more values than are told apart.
	Distinct *int           `json:"distinct,omitempty"`
	Numbers  *numberSummary `json:"numbers,omitempty"`
	Top      []frequency    `json:"top,omitempty"`
}

func (c *column) summary(top int) columnSummary {
	summary := columnSummary{Name: c.name, Count: c.count - c.missing, Missing: c.missing}
	switch {
	case summary.Count == 0:
		summary.Type = "empty"
	case c.notANumb == 0:
		summary.Type = "number"
	case c.numbers.count == 0:
		summary.Type = "text"
	default:
		summary.Type = "mixed"
	}
	if c.numbers.count > 0 {
		summary.Numbers = c.numbers.summary()
	}
	if !c.tooMany {
		summary.Distinct = new(len(c.distinct))
	}
	if summary.Type == "text" || summary.Type == "mixed" {
		values := slices.SortedFunc(maps.Keys(c.distinct), func(a, b string) int {
			if c.distinct[a] != c.distinct[b] {
				return c.distinct[b] - c.distinct[a]
			}
			return strings.Compare(a, b)
		})
		for _, value := range values[:min(top, len(values))] {
			summary.Top = append(summary.Top, frequency{shown(value), c.distinct[value]})
		}
	}
	return summary
}

func (s columnSummary) line() string {
	var text strings.Builder
	fmt.Fprintf(&text, "- %s: %s, %d values", s.Name, s.Type, s.Count)
	if s.Missing > 0 {
		fmt.Fprintf(&text, " (%d missing)", s.Missing)
	}
	if s.Distinct != nil {
		fmt.Fprintf(&text, ", %d distinct", *s.Distinct)
	}
	if s.Numbers != nil {
		text.WriteString("; " + s.Numbers.String())
	}
	for at, value := range s.Top {
		if at == 0 {
			text.WriteString("; most frequent: ")
		} else {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s (%d)", value.Value, value.Count)
	}
	text.WriteByte('\n')
	return text.String()
}

// shown is a value short enough for a list.
func shown(value string) string {
	if value == "" {
		return "(empty)"
	}
	if utf8.RuneCountInString(value) > 60 {
		return string([]rune(value)[:59]) + "…"
	}
	return value
}
