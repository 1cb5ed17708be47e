package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	toolgate "toolgate.local/sdk"
	"toolgate.local/sdk/toolgatetest"
)

const sales = "region,units,price\nnorth,10,1.50\nsouth,4,0.10\nnorth,,2.40\n\"we, st\",6,n/a\n"

func text(t *testing.T, tool toolgate.AnyTool, arguments map[string]any) string {
	t.Helper()
	result, err := toolgatetest.New().Call(tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return result.JoinedText()
}

func TestColumnsAreDescribed(t *testing.T) {
	found := text(t, describe, map[string]any{"text": sales})
	expected := `4 rows, 3 columns
- region: text, 4 values, 3 distinct; most frequent: north (2), south (1), we, st (1)
- units: number, 3 values (1 missing), 3 distinct; min 4, max 10, sum 20, mean 6.66666666667, standard deviation 3.0550504633, quartiles 5 6 8
- price: mixed, 4 values, 4 distinct; min 0.10, max 2.40, sum 4, mean 1.33333333333, standard deviation 1.15902257671, quartiles 0.8 1.5 1.95; most frequent: 0.10 (1), 1.50 (1), 2.40 (1), n/a (1)`
	if found != expected {
		t.Errorf("found\n%s\nexpected\n%s", found, expected)
	}
}

func TestDelimitersAreFoundOut(t *testing.T) {
	for _, data := range []string{"a;b\n1;2\n", "a\tb\n1\t2\n", "\uFEFFa|b\r\n1|2\r\n"} {
		if found := text(t, describe, map[string]any{"text": data, "columns": []string{"B"}}); !strings.Contains(found, "- b: number, 1 values") {
			t.Errorf("%q: %s", data, found)
		}
	}
}

func TestGroupsAreSummedUp(t *testing.T) {
	found := text(t, group, map[string]any{"text": sales, "by": "region", "values": "units", "limit": 2})
	expected := "4 rows in 3 groups by region\n- north: 2 rows; min 10, max 10, sum 10, mean 10\n" +
		"- south: 1 rows; min 4, max 4, sum 4, mean 4\n(1 more groups; raise limit to see them)"
	if found != expected {
		t.Errorf("found\n%s\nexpected\n%s", found, expected)
	}
}

func TestFilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(sales), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := text(t, describe, map[string]any{"path": path}); !strings.HasPrefix(found, "4 rows") {
		t.Error(found)
	}
	if _, err := toolgatetest.New().Call(describe, map[string]any{"path": path + "x"}); err == nil {
		t.Error("there is no such file")
	}
}

func TestMistakesAreTold(t *testing.T) {
	for _, row := range []struct {
		arguments map[string]any
		words     string
	}{
		{map[string]any{}, "either text or path"},
		{map[string]any{"text": ""}, "header line"},
		{map[string]any{"text": sales, "columns": []string{"size"}}, "there are: region, units, price"},
		{map[string]any{"text": "a,b\n1\n"}, "line 2 has another number of fields"},
		{map[string]any{"text": "a,b\n\"1,2\n"}, "line 2"},
	} {
		_, err := toolgatetest.New().Call(describe, row.arguments)
		if err == nil || !strings.Contains(err.Error(), row.words) {
			t.Errorf("%v: %v", row.arguments, err)
		}
	}
}

func TestALongTableReportsAndStops(t *testing.T) {
	long := "n\n" + strings.Repeat("1\n", 200_000)
	host := toolgatetest.New()
	if _, err := host.Call(describe, map[string]any{"text": long}); err != nil || len(host.Updates()) != 2 {
		t.Error(err)
	}
	host.Cancel()
	if _, err := host.Call(describe, map[string]any{"text": long}); !errors.Is(err, toolgate.ErrCancelled) {
		t.Error(err)
	}
}
