package toolgate

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// SchemaOf derives the JSON Schema 2020-12 of arguments from a type's fields and their tags:
//
//	type Args struct {
//		Path  string   `json:"path" description:"What to read."`
//		Limit *int     `json:"limit" description:"Lines; all by default." toolgate:"min=1,max=1000"`
//		Order string   `json:"order,omitempty" toolgate:"enum=up|down"`
//		Tags  []string `json:"tags" toolgate:"optional,maxItems=8,minLength=1"`
//	}
//
// A field is required unless it is a pointer, has omitempty or omitzero, or says toolgate:"optional"; toolgate:"required"
// requires any. The other words of a toolgate tag, separated by commas: enum=A|B, const=, default=, min=, max=,
// exclusiveMin=, exclusiveMax=, multipleOf=, minLength=, maxLength=, format=, pattern=, minItems=, maxItems=, uniqueItems,
// and title=. Since a pattern may hold commas, it reaches to the end of the tag. Words about strings and numbers apply to the items where
// the field is a list of them. A field `_ struct{}` tagged toolgate:"closed" refuses unknown arguments, which are ignored
// otherwise. A type that implements [Schemer] says its schema itself.
func SchemaOf[T any]() (json.RawMessage, error) {
	return schemaOf(reflect.TypeFor[T](), false)
}

// OutputSchemaOf derives the schema of what a type is written as: [Tool].Output of a tool whose structured content it is.
func OutputSchemaOf[T any]() (json.RawMessage, error) {
	return schemaOf(reflect.TypeFor[T](), true)
}

// MustOutputSchemaOf is [OutputSchemaOf] for a type that is known to have a schema; it panics where there is none.
func MustOutputSchemaOf[T any]() json.RawMessage {
	schema, err := OutputSchemaOf[T]()
	if err != nil {
		panic(err)
	}
	return schema
}

// Schemer is a type that says its JSON Schema itself.
type Schemer interface{ JSONSchema() json.RawMessage }

// object is a JSON object in the order it was made.
type object []member

type member struct {
	key   string
	value any
}

func (o object) with(key string, value any) object { return append(o, member{key, value}) }

func (o object) has(key string) bool {
	for _, member := range o {
		if member.key == key {
			return true
		}
	}
	return false
}

func (o object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for at, member := range o {
		if at > 0 {
			text.WriteByte(',')
		}
		key, err := EncodeJSON(member.key)
		if err != nil {
			return nil, err
		}
		value, err := EncodeJSON(member.value)
		if err != nil {
			return nil, err
		}
		text.WriteString(key + ":" + value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

type generator struct {
	output bool
	// Types being worked on, and those met again meanwhile: they need a name.
	open      map[reflect.Type]bool
	recursive map[reflect.Type]string
	defs      object
}

func schemaOf(t reflect.Type, output bool) (json.RawMessage, error) {
	g := &generator{output: output, open: map[reflect.Type]bool{}, recursive: map[reflect.Type]string{}}
	schema, err := g.of(t)
	if err != nil {
		return nil, err
	}
	// Arguments are an object even where the type doesn't say so (any, json.RawMessage); clients insist.
	if !output && !schema.has("type") && !schema.has("$ref") {
		schema = append(object{{"type", "object"}}, schema...)
	}
	if g.defs != nil {
		schema = schema.with("$defs", g.defs)
	}
	text, err := EncodeJSON(schema)
	return json.RawMessage(text), err
}

var (
	schemer       = reflect.TypeFor[Schemer]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	number        = reflect.TypeFor[json.Number]()
	rawMessage    = reflect.TypeFor[json.RawMessage]()
	timestamp     = reflect.TypeFor[time.Time]()
)

func (g *generator) of(t reflect.Type) (object, error) {
	if t.Kind() != reflect.Interface && (t.Implements(schemer) || reflect.PointerTo(t).Implements(schemer)) {
		schema, _ := reflect.New(t).Interface().(Schemer)
		return parseObject(t, schema.JSONSchema())
	}
	switch t {
	case number:
		return object{{"type", "number"}}, nil
	case rawMessage:
		return object{}, nil
	case timestamp:
		return object{{"type", "string"}, {"format", "date-time"}}, nil
	}
	if t.Kind() != reflect.Interface {
		if t.Implements(textMarshaler) {
			return object{{"type", "string"}}, nil
		}
		if t.Implements(jsonMarshaler) {
			return nil, fmt.Errorf("%s writes its own JSON: give it a method JSONSchema", t)
		}
	}
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}, nil
	case reflect.Bool:
		return object{{"type", "boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		schema := object{{"type", "integer"}}
		if !g.output {
			bits := t.Bits()
			schema = schema.with("minimum", int64(-1)<<(bits-1)).with("maximum", int64(1)<<(bits-1)-1)
		}
		return schema, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		schema := object{{"type", "integer"}, {"minimum", 0}}
		if !g.output {
			schema = schema.with("maximum", ^uint64(0)>>(64-t.Bits()))
		}
		return schema, nil
	case reflect.Float32, reflect.Float64:
		return object{{"type", "number"}}, nil
	case reflect.Interface:
		return object{}, nil
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return object{{"type", "string"}, {"contentEncoding", "base64"}}, nil
		}
		items, err := g.of(t.Elem())
		if err != nil {
			return nil, err
		}
		schema := object{{"type", "array"}, {"items", items}}
		if t.Kind() == reflect.Array {
			schema = schema.with("minItems", t.Len()).with("maxItems", t.Len())
		}
		return schema, nil
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: keys of a map have to be strings", t)
		}
		values, err := g.of(t.Elem())
		if err != nil {
			return nil, err
		}
		schema := object{{"type", "object"}}
		if len(values) > 0 {
			schema = schema.with("additionalProperties", values)
		}
		return schema, nil
	case reflect.Struct:
		return g.ofStruct(t)
	}
	return nil, fmt.Errorf("%s has no JSON Schema", t)
}

func (g *generator) ofStruct(t reflect.Type) (object, error) {
	if g.open[t] || g.recursive[t] != "" {
		if g.recursive[t] == "" {
			g.recursive[t] = t.Name()
		}
		return object{{"$ref", "#/$defs/" + g.recursive[t]}}, nil
	}
	g.open[t] = true
	defer delete(g.open, t)
	properties, required, closed := object{}, []string{}, false
	if err := g.fields(t, &properties, &required, &closed); err != nil {
		return nil, err
	}
	schema := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema = schema.with("required", required)
	}
	if closed {
		schema = schema.with("additionalProperties", false)
	}
	if name := g.recursive[t]; name != "" {
		g.defs = g.defs.with(name, schema)
		return object{{"$ref", "#/$defs/" + name}}, nil
	}
	return schema, nil
}

func (g *generator) fields(t reflect.Type, properties *object, required *[]string, closed *bool) error {
	for at := range t.NumField() {
		field := t.Field(at)
		if field.Name == "_" {
			*closed = *closed || field.Tag.Get("toolgate") == "closed"
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if field.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if err := g.fields(inner, properties, required, closed); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema, err := g.of(field.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), field.Name, err)
		}
		omitted := strings.Contains(","+options+",", ",omitempty,") || strings.Contains(","+options+",", ",omitzero,")
		needed := !omitted && (g.output || field.Type.Kind() != reflect.Pointer)
		if g.output && field.Type.Kind() == reflect.Pointer && !omitted {
			schema = object{{"anyOf", []object{schema, {{"type", "null"}}}}}
		}
		if strings.Contains(","+options+",", ",string,") {
			schema = object{{"type", "string"}}
		}
		schema, err = applyTag(schema, field.Type, field.Tag.Get("toolgate"), &needed)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), field.Name, err)
		}
		if description := field.Tag.Get("description"); description != "" {
			schema = schema.with("description", description)
		}
		*properties = properties.with(name, schema)
		if needed {
			*required = append(*required, name)
		}
	}
	return nil
}

var keywords = map[string]string{
	"const": "const", "default": "default", "enum": "enum", "exclusiveMax": "exclusiveMaximum",
	"exclusiveMin": "exclusiveMinimum", "format": "format", "max": "maximum", "maxItems": "maxItems",
	"maxLength": "maxLength", "min": "minimum", "minItems": "minItems", "minLength": "minLength", "multipleOf": "multipleOf",
	"pattern": "pattern", "title": "title", "uniqueItems": "uniqueItems",
}

func applyTag(schema object, t reflect.Type, tag string, needed *bool) (object, error) {
	for tag != "" {
		var word string
		if strings.HasPrefix(tag, "pattern=") {
			word, tag = tag, ""
		} else {
			word, tag, _ = strings.Cut(tag, ",")
		}
		key, text, hasText := strings.Cut(word, "=")
		switch key {
		case "required":
			*needed = true
			continue
		case "optional":
			*needed = false
			continue
		}
		keyword, known := keywords[key]
		if !known || hasText == (key == "uniqueItems") {
			return nil, fmt.Errorf("the tag toolgate:%q is not understood: %q", tag, word)
		}
		target, holder := t, keyword != "minItems" && keyword != "maxItems" && keyword != "uniqueItems"
		for target.Kind() == reflect.Pointer {
			target = target.Elem()
		}
		// What is said of strings or numbers goes to the items of a list.
		onItems := holder && keyword != "title" && keyword != "default" && (target.Kind() == reflect.Slice || target.Kind() == reflect.Array)
		if onItems {
			target = target.Elem()
		}
		value, err := tagValue(key, text, target)
		if err != nil {
			return nil, fmt.Errorf("the tag's %q does not fit %s: %w", word, t, err)
		}
		if onItems {
			schema = schema.changed("items", func(items any) any { return items.(object).replaced(keyword, value) })
		} else {
			schema = schema.replaced(keyword, value)
		}
	}
	return schema, nil
}

// replaced has the author's word in place of what the type implied.
func (o object) replaced(key string, value any) object {
	if !o.has(key) {
		return o.with(key, value)
	}
	return o.changed(key, func(any) any { return value })
}

func (o object) changed(key string, change func(any) any) object {
	changed := append(object{}, o...)
	for at := range changed {
		if changed[at].key == key {
			changed[at].value = change(changed[at].value)
		}
	}
	return changed
}

func tagValue(key, text string, t reflect.Type) (any, error) {
	switch key {
	case "uniqueItems":
		return true, nil
	case "pattern", "format", "title":
		return text, nil
	case "enum":
		var values []any
		for _, item := range strings.Split(text, "|") {
			value, err := scalar(item, t)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	case "const", "default":
		return scalar(text, t)
	case "min", "max", "exclusiveMin", "exclusiveMax", "multipleOf":
		return jsonNumber(text)
	default:
		return strconv.ParseUint(text, 10, 32)
	}
}

func scalar(text string, t reflect.Type) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == number || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64:
		return jsonNumber(text)
	case t.Kind() == reflect.Bool:
		return strconv.ParseBool(text)
	default:
		return text, nil
	}
}

func jsonNumber(text string) (any, error) {
	var value json.Number
	if err := json.Unmarshal([]byte(text), &value); err != nil || text == "" || text[0] == '"' {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return value, nil
}

func parseObject(t reflect.Type, schema json.RawMessage) (object, error) {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("the JSONSchema of %s is no JSON object", t)
	}
	parsed := object{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("the JSONSchema of %s: %w", t, err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("the JSONSchema of %s: %w", t, err)
		}
		parsed = parsed.with(key.(string), value)
	}
	return parsed, nil
}
