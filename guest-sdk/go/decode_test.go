package toolgate

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWholeNumbersLoseFractionAndExponentAndNothingElseChanges(t *testing.T) {
	for _, row := range [][2]string{
		{`{"a":50.0,"b":[1e3,-2.50E+1]}`, `{"a":50,"b":[1000,-25]}`},
		{`{"a":0.5,"b":1e-1,"c":3.14}`, `{"a":0.5,"b":1e-1,"c":3.14}`},
		{"[100e-2, 1000e-2, 105e-1, 0.0, -0, 0e9]", "[1, 10, 105e-1, 0, 0, 0]"},
		{`{"1.0":"2.0 \" 3.0","é":"\\"}`, `{"1.0":"2.0 \" 3.0","é":"\\"}`},
		{"[18446744073709551615, 340282366920938463463374607431768211455]", "[18446744073709551615, 340282366920938463463374607431768211455]"},
		{"[1e38, 1e39, 1e999999999999, 1e-999999999999999999999]", "[1" + strings.Repeat("0", 38) + ", 1e39, 1e999999999999, 1e-999999999999999999999]"},
		{`[true,null,"unfinished 1.0`, `[true,null,"unfinished 1.0`},
	} {
		if found := writeWholeNumbersAsIntegers(row[0]); found != row[1] {
			t.Errorf("%s became %s, not %s", row[0], found, row[1])
		}
	}
}

func TestArgumentsKeepTheirDigits(t *testing.T) {
	var args struct {
		N int         `json:"n"`
		D json.Number `json:"d"`
		A any         `json:"a"`
	}
	if err := parseArguments(json.RawMessage(`{"n":5e1,"d":0.10000000000000000000000000000001,"a":[1e400]}`), &args); err != nil {
		t.Fatal(err)
	}
	text, err := EncodeJSON(args)
	if err != nil || text != `{"n":50,"d":0.10000000000000000000000000000001,"a":[1e400]}` {
		t.Error(text, err)
	}
}

func TestAMisfitNamesItsPlace(t *testing.T) {
	var args struct {
		Inner struct {
			N int8 `json:"n"`
		} `json:"inner"`
	}
	err := parseArguments(json.RawMessage(`{"inner":{"n":300}}`), &args)
	if err == nil || !strings.Contains(err.Error(), "`inner.n`") {
		t.Error(err)
	}
	if err := decode(`{} {}`, &args); err == nil {
		t.Error("a second document was read over")
	}
}
