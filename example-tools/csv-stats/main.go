// Statistics of CSV data: what is in each column, and numbers summed up by group. The example of a plugin in Go.
package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/tools"
)

var describe = toolgate.Tool[describeArgs]{
	Name:  "csv_stats",
	Label: "CSV statistics",
	Description: "Summarizes CSV data column by column: type, missing and distinct values; for numbers minimum, maximum, sum, " +
		"mean, standard deviation and quartiles; for other columns the most frequent values. Give the data as `text`, or a " +
		"`path` of a file. Look here first before writing code about a table; use csv_group for sums per category.",
	Hints:   toolgate.Hints{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)},
	Output:  toolgate.MustOutputSchemaOf[description](),
	Execute: runDescribe,
	Exclusive: []toolgate.ExclusiveKey{
		{Pointer: "/path", IsPath: true},
	},
}

var group = toolgate.Tool[groupArgs]{
	Name:  "csv_group",
	Label: "CSV groups",
	Description: "Groups the rows of CSV data by the values of one column and counts them; with `values`, also sums up a column " +
		"of numbers per group (sum, mean, minimum, maximum). The largest groups come first.",
	Hints:   toolgate.Hints{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)},
	Output:  toolgate.MustOutputSchemaOf[groups](),
	Execute: runGroup,
	Exclusive: []toolgate.ExclusiveKey{
		{Pointer: "/path", IsPath: true},
	},
}

func init() { tools.Export(describe, group) }

func main() {}

type source struct {
	Text      *string `json:"text" description:"The data itself, with a header line."`
	Path      *string `json:"path" description:"A file with the data, in a granted directory. Give this or text."`
	Delimiter string  `json:"delimiter,omitempty" description:"What separates the fields; found out where it is not given." toolgate:"enum=comma|semicolon|tab|pipe"`
}

type describeArgs struct {
	source
	Columns []string `json:"columns" description:"Only these columns." toolgate:"optional"`
	Top     int      `json:"top" description:"How many of the most frequent values to list; 5 by default." toolgate:"optional,min=0,max=50"`
}

type description struct {
	Rows    int             `json:"rows"`
	Columns []columnSummary `json:"columns"`
}

func runDescribe(cx *toolgate.Context, args describeArgs) (*toolgate.Result, error) {
	if args.Top == 0 {
		args.Top = 5
	}
	table, err := open(args.source)
	if err != nil {
		return nil, err
	}
	defer table.close()
	wanted := args.Columns
	if len(wanted) == 0 {
		wanted = table.header
	}
	columns := make([]*column, 0, len(wanted))
	for _, name := range wanted {
		at, err := table.find(name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, newColumn(table.header[at], at))
	}
	rows, err := table.each(cx, func(row []string) {
		for _, column := range columns {
			column.add(row[column.at])
		}
	})
	if err != nil {
		return nil, err
	}
	found := description{Rows: rows, Columns: []columnSummary{}}
	var text strings.Builder
	fmt.Fprintf(&text, "%d rows, %d columns\n", rows, len(columns))
	for _, column := range columns {
		summary := column.summary(args.Top)
		found.Columns = append(found.Columns, summary)
		text.WriteString(summary.line())
	}
	return answer(text.String(), found), nil
}

type groupArgs struct {
	source
	By     string  `json:"by" description:"The column whose values make the groups."`
	Values *string `json:"values" description:"A column of numbers to sum up per group."`
	Limit  int     `json:"limit" description:"How many groups to list; 20 by default." toolgate:"optional,min=1,max=1000"`
}

type groups struct {
	Rows   int            `json:"rows"`
	Groups []groupSummary `json:"groups"`
	// How many there are, also those that are not listed.
	Total int `json:"total"`
}

type groupSummary struct {
	Value string `json:"value"`
	Count int    `json:"count"`
	// Of the numbers of the column that was asked for.
	Numbers *numberSummary `json:"numbers,omitempty"`
}

// More groups than this are not a grouping, and would fill the memory.
const maxGroups = 100_000

func runGroup(cx *toolgate.Context, args groupArgs) (*toolgate.Result, error) {
	if args.Limit == 0 {
		args.Limit = 20
	}
	table, err := open(args.source)
	if err != nil {
		return nil, err
	}
	defer table.close()
	by, err := table.find(args.By)
	if err != nil {
		return nil, err
	}
	values := -1
	if args.Values != nil {
		if values, err = table.find(*args.Values); err != nil {
			return nil, err
		}
	}
	type member struct {
		count   int
		numbers numbers
	}
	members := map[string]*member{}
	tooMany := false
	rows, err := table.each(cx, func(row []string) {
		key := row[by]
		found := members[key]
		if found == nil {
			if tooMany = tooMany || len(members) == maxGroups; tooMany {
				return
			}
			found = &member{}
			members[strings.Clone(key)] = found
		}
		found.count++
		if values >= 0 {
			if number, ok := parseNumber(row[values]); ok {
				found.numbers.add(number, row[values])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if tooMany {
		return nil, fmt.Errorf("the column %q has more than %d different values; group by a column with fewer", args.By, maxGroups)
	}
	found := groups{Rows: rows, Groups: []groupSummary{}, Total: len(members)}
	for value, member := range members {
		summary := groupSummary{Value: value, Count: member.count}
		if values >= 0 && member.numbers.count > 0 {
			summary.Numbers = member.numbers.summary()
		}
		found.Groups = append(found.Groups, summary)
	}
	slices.SortFunc(found.Groups, func(a, b groupSummary) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Value, b.Value)
	})
	found.Groups = found.Groups[:min(len(found.Groups), args.Limit)]
	var text strings.Builder
	fmt.Fprintf(&text, "%d rows in %d groups by %s\n", rows, found.Total, args.By)
	for _, group := range found.Groups {
		fmt.Fprintf(&text, "- %s: %d rows", shown(group.Value), group.Count)
		if group.Numbers != nil {
			text.WriteString("; " + group.Numbers.String())
		}
		text.WriteByte('\n')
	}
	if left := found.Total - len(found.Groups); left > 0 {
		fmt.Fprintf(&text, "(%d more groups; raise limit to see them)\n", left)
	}
	return answer(text.String(), found), nil
}

func answer(text string, data any) *toolgate.Result {
	result := toolgate.Text(strings.TrimSuffix(text, "\n"))
	result.StructuredContent = data
	return result
}

func (source source) check() error {
	if (source.Text == nil) == (source.Path == nil) {
		return errors.New("give either text or path")
	}
	return nil
}
