package toolgate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func same(t *testing.T, found json.RawMessage, err error, expected string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if string(found) != expected {
		t.Errorf("found    %s\nexpected %s", found, expected)
	}
}

func TestTagsBecomeASchema(t *testing.T) {
	type inner struct {
		Count uint8 `json:"count" description:"How <many>."`
	}
	type args struct {
		Path   string      `json:"path" description:"What to read."`
		Limit  *int32      `json:"limit" toolgate:"min=1,max=1000"`
		Order  string      `json:"order,omitempty" toolgate:"enum=up|down,default=up"`
		Tags   []string    `json:"tags" toolgate:"optional,maxItems=8,minLength=1"`
		Exact  json.Number `json:"exact" toolgate:"exclusiveMin=0.10"`
		Code   *string     `json:"code" toolgate:"required,pattern=^[a-z]{1,3}$"`
		Inner  inner       `json:"inner"`
		hidden string
		_      struct{} `toolgate:"closed"`
	}
	schema, err := SchemaOf[args]()
	same(t, schema, err, `{"type":"object","properties":{`+
		`"path":{"type":"string","description":"What to read."},`+
		`"limit":{"type":"integer","minimum":1,"maximum":1000},`+
		`"order":{"type":"string","enum":["up","down"],"default":"up"},`+
		`"tags":{"type":"array","items":{"type":"string","minLength":1},"maxItems":8},`+
		`"exact":{"type":"number","exclusiveMinimum":0.10},`+
		`"code":{"type":"string","pattern":"^[a-z]{1,3}$"},`+
		`"inner":{"type":"object","properties":{"count":{"type":"integer","minimum":0,"maximum":255,"description":"How <many>."}},"required":["count"]}},`+
		`"required":["path","exact","code","inner"],"additionalProperties":false}`)
	_ = args{}.hidden
}

type node struct {
	Name     string  `json:"name"`
	Children []*node `json:"children,omitempty"`
}

type colour string

func (colour) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["red","blue"]}`)
}

func TestTypesOfEveryKind(t *testing.T) {
	type base struct {
		ID int64 `json:"id"`
	}
	type all struct {
		base
		Any    any               `json:"any"`
		Raw    json.RawMessage   `json:"raw"`
		Bytes  []byte            `json:"bytes"`
		Pair   [2]float64        `json:"pair"`
		Map    map[string]bool   `json:"map"`
		When   time.Time         `json:"when"`
		Tree   *node             `json:"tree,omitempty"`
		Colour colour            `json:"colour" description:"Which."`
		Big    uint64            `json:"big"`
		Free   map[string]any    `json:"free"`
		Skip   func()            `json:"-"`
		Text   map[string]string `toolgate:"optional"`
	}
	schema, err := SchemaOf[all]()
	same(t, schema, err, `{"type":"object","properties":{`+
		`"id":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807},"any":{},"raw":{},`+
		`"bytes":{"type":"string","contentEncoding":"base64"},`+
		`"pair":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2},`+
		`"map":{"type":"object","additionalProperties":{"type":"boolean"}},"when":{"type":"string","format":"date-time"},`+
		`"tree":{"$ref":"#/$defs/node"},"colour":{"type":"string","enum":["red","blue"],"description":"Which."},`+
		`"big":{"type":"integer","minimum":0,"maximum":18446744073709551615},"free":{"type":"object"},`+
		`"Text":{"type":"object","additionalProperties":{"type":"string"}}},`+
		`"required":["id","any","raw","bytes","pair","map","when","colour","big","free"],`+
		`"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}}}`)

	schema, err = SchemaOf[json.RawMessage]()
	same(t, schema, err, `{"type":"object"}`)
	schema, err = OutputSchemaOf[struct {
		Note *string `json:"note"`
		N    int     `json:"n"`
	}]()
	same(t, schema, err, `{"type":"object","properties":{"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"n":{"type":"integer"}},"required":["note","n"]}`)
}

func TestATagThatIsNotUnderstoodIsAnError(t *testing.T) {
	refused := func(schema json.RawMessage, err error, part string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s, %v: expected an error with %q", schema, err, part)
		}
	}
	schema, err := SchemaOf[struct {
		A int `toolgate:"least=1"`
	}]()
	refused(schema, err, "least=1")
	schema, err = SchemaOf[struct {
		A int `toolgate:"min=one"`
	}]()
	refused(schema, err, "no number")
	schema, err = SchemaOf[struct{ A chan int }]()
	refused(schema, err, "chan int")
}
