//! What each provider is given for a definition, and what is said about it.

#![allow(clippy::unwrap_used, missing_docs)]

use serde_json::{Value, json};
use toolgate::model::{Json, ToolDefinition};
use toolgate_formats::{Export, Format, Level, export};

fn tool(parameters: Value) -> ToolDefinition {
    ToolDefinition::new("t", "Does it.", Json::from_value(parameters))
}

fn one(format: Format, strict: bool, parameters: Value) -> (Value, Vec<String>) {
    let export = export(format, strict, [&tool(parameters)]);
    let notes = export.notes.iter().map(|note| format!("{} {}", note.path, note.text).trim().to_owned()).collect();
    (export.tools.into_iter().next().unwrap_or(Value::Null), notes)
}

fn has(notes: &[String], part: &str) -> bool {
    notes.iter().any(|note| note.contains(part))
}

/// What schemars, zod and pydantic write for ordinary arguments.
fn ordinary() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Args",
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "Which file." },
            "limit": { "type": ["integer", "null"], "format": "uint32", "minimum": 0, "maximum": 4_294_967_295u64 },
            "mode": { "anyOf": [{ "$ref": "#/$defs/Mode" }, { "type": "null" }], "description": "How." },
            "tags": { "type": "array", "items": { "type": "string", "minLength": 1 } }
        },
        "required": ["path"],
        "$defs": { "Mode": { "oneOf": [
            { "type": "string", "const": "fast" },
            { "type": "object", "properties": { "slow": { "type": "number", "exclusiveMinimum": 0 } }, "required": ["slow"], "additionalProperties": false }
        ] } }
    })
}

#[test]
fn ordinary_arguments_go_to_openai_as_they_are() {
    let (written, notes) = one(Format::OpenAi, false, ordinary());
    let mut parameters = ordinary();
    parameters.as_object_mut().unwrap().remove("$schema");
    assert_eq!(
        written,
        json!({ "type": "function", "name": "t", "description": "Does it.", "parameters": parameters, "strict": false })
    );
    assert_eq!(notes, Vec::<String>::new());
    let (chat, _) = one(Format::OpenAiChat, false, ordinary());
    assert_eq!(
        chat,
        json!({ "type": "function", "function": { "name": "t", "description": "Does it.", "parameters": parameters } })
    );
}

#[test]
fn openai_strict_closes_objects_and_makes_the_optional_nullable() {
    let (written, notes) = one(Format::OpenAi, true, ordinary());
    assert_eq!(written["strict"], true, "{notes:?}");
    let parameters = &written["parameters"];
    assert_eq!(parameters["required"], json!(["path", "limit", "mode", "tags"]));
    assert_eq!(parameters["additionalProperties"], false);
    assert_eq!(
        parameters["properties"]["limit"],
        json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 4_294_967_295u64 })
    );
    assert_eq!(
        parameters["properties"]["mode"],
        json!({ "anyOf": [{ "$ref": "#/$defs/Mode" }, { "type": "null" }], "description": "How." })
    );
    assert_eq!(parameters["properties"]["tags"], json!({ "type": ["array", "null"], "items": { "type": "string" } }));
    assert_eq!(
        parameters["$defs"]["Mode"]["anyOf"][1]["properties"]["slow"],
        json!({ "type": "number", "exclusiveMinimum": 0 })
    );
    for part in [
        "/properties/limit/format removed: OpenAI's strict mode does not know the format \"uint32\"",
        "/properties/tags/items/minLength removed",
        "/required \"limit\", \"mode\", \"tags\": null instead of absent",
        "/$defs/Mode/oneOf `anyOf` instead",
    ] {
        assert!(has(&notes, part), "{part}: {notes:#?}");
    }
    // Toolgate reads null as absent, so that what such a model sends is accepted by the tool's own schema.
    let schema = toolgate::schema::Schema::compile(&ordinary()).unwrap();
    let sent = json!({ "path": "a", "limit": null, "mode": null, "tags": null });
    assert!(schema.check(&sent.into()).is_ok());
}

#[test]
fn what_cannot_be_strict_goes_out_without_and_says_why() {
    for (parameters, why) in [
        (
            json!({ "type": "object", "properties": { "env": { "type": "object", "additionalProperties": { "type": "string" } } } }),
            "/properties/env not strict: it has an object whose property names are not known",
        ),
        (json!({ "type": "object", "properties": { "any": {} } }), "/properties/any not strict: it accepts any value"),
        (
            json!({ "type": "object", "properties": { "list": { "type": "array" } } }),
            "/properties/list not strict: it has an array whose items",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/b" }, "b": { "type": "null" } } }),
            "/properties/a not strict: it refers to \"#/properties/b\"",
        ),
    ] {
        for format in [Format::OpenAi, Format::OpenAiChat, Format::Anthropic] {
            let (written, notes) = one(format, true, parameters.clone());
            assert_ne!(written["strict"], true, "{parameters}");
            assert!(has(&notes, why), "{why}: {notes:?}");
        }
    }
}

#[test]
fn openais_limits_of_strict_schemas_are_kept() {
    let enough = |count: usize| {
        let properties: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("p{n}"), json!({ "type": "null" }))).collect();
        json!({ "type": "object", "properties": properties })
    };
    let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
    let mut deep = json!({ "type": "string" });
    for _ in 0..11 {
        deep = json!({ "type": "object", "properties": { "a": deep }, "required": ["a"] });
    }
    for (parameters, why) in [
        (enough(5_001), "too large"),
        (
            json!({ "type": "object", "properties": { "e": { "enum": many } } }),
            "1001 values in `enum`s, more than 1000",
        ),
        (deep, "nests deeper than 10 objects"),
        (
            json!({ "type": "object", "properties": { "e": { "const": "x".repeat(120_001) } } }),
            "characters in names and values",
        ),
    ] {
        let (written, notes) = one(Format::OpenAi, true, parameters);
        assert_eq!(written["strict"], false);
        assert!(has(&notes, why), "{why}: {notes:?}");
    }
    assert_eq!(one(Format::OpenAi, true, enough(4_000)).0["strict"], true);
}

#[test]
fn the_outermost_level_is_flattened_for_everybody_but_mcp() {
    let parameters = json!({
        "type": "object",
        "properties": { "id": { "type": "string" } },
        "required": ["id"],
        "anyOf": [
            { "properties": { "file": { "type": "string" }, "n": { "type": "integer" } }, "required": ["file", "n"] },
            { "properties": { "url": { "type": "string" }, "n": { "type": "string" } }, "required": ["url", "n"] }
        ],
        "not": { "required": ["x"] }
    });
    for format in [Format::OpenAi, Format::OpenAiChat, Format::Anthropic, Format::Google] {
        let (written, notes) = one(format, false, parameters.clone());
        let at = match format {
            Format::OpenAiChat => &written["function"]["parameters"],
            Format::Anthropic => &written["input_schema"],
            _ => &written["parameters"],
        };
        assert_eq!(at["required"], json!(["id", "n"]), "{written}");
        assert!(at["properties"]["file"].is_object() && at["properties"]["url"].is_object());
        assert_eq!(at["properties"]["n"]["anyOf"].as_array().map(Vec::len), Some(2), "{at}");
        assert!(at.get("anyOf").is_none() && at.get("not").is_none());
        assert!(has(&notes, "/anyOf the properties of all its schemas") && has(&notes, "/not removed"), "{notes:?}");
    }
    let (mcp, notes) = one(Format::Mcp, false, parameters.clone());
    assert_eq!((&mcp["inputSchema"], notes.len()), (&parameters, 0));
}

#[test]
fn an_outermost_reference_and_all_of_are_put_together() {
    let parameters = json!({
        "$ref": "#/$defs/A",
        "$defs": {
            "A": { "allOf": [{ "$ref": "#/$defs/B" }, { "type": "object", "properties": { "b": { "type": "null" } }, "required": ["b"] }] },
            "B": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false }
        }
    });
    let (written, _) = one(Format::Anthropic, false, parameters);
    let schema = &written["input_schema"];
    assert_eq!((&schema["type"], &schema["required"]), (&"object".into(), &json!(["a", "b"])), "{schema}");
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn a_schema_of_something_else_than_an_object_is_refused() {
    for parameters in [json!({ "type": "string" }), json!(false), json!({ "$ref": "#/$defs/gone" })] {
        for format in Format::ALL {
            if format == Format::Mcp && parameters.is_object() && parameters.get("$ref").is_some() {
                continue;
            }
            let export = export(format, false, [&tool(parameters.clone())]);
            assert_eq!((export.tools.len(), export.is_complete()), (0, false), "{format:?} {parameters}");
            assert!(export.notes.iter().any(|note| note.level == Level::Refused));
        }
    }
    let nullable = one(Format::OpenAi, false, json!({ "type": ["object", "null"] }));
    assert_eq!(nullable.0["parameters"], json!({ "type": "object", "properties": {} }));
    assert!(has(&nullable.1, "`object` alone"));
}

#[test]
fn openai_gets_items_for_every_array() {
    let parameters = json!({ "type": "object", "properties": { "pair": { "type": "array", "prefixItems": [{ "type": "array" }] } } });
    let (written, notes) = one(Format::OpenAi, false, parameters);
    let pair = &written["parameters"]["properties"]["pair"];
    assert_eq!((&pair["items"], &pair["prefixItems"][0]["items"]), (&json!({}), &json!({})));
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn anthropic_refuses_some_property_names() {
    let parameters = json!({ "type": "object", "properties": { "filter[id]": { "type": "string" }, "a.b-c_1": {} } });
    let export = export(Format::Anthropic, false, [&tool(parameters)]);
    assert!(!export.is_complete());
    assert!(export.notes[0].text.contains("\"filter[id]\""), "{:?}", export.notes);
}

#[test]
fn anthropic_strict_has_its_own_keywords_and_a_budget_for_all_tools() {
    let (written, notes) = one(Format::Anthropic, true, ordinary());
    assert_eq!(written["strict"], true, "{notes:?}");
    let schema = &written["input_schema"];
    assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["path"]), &false.into()));
    assert_eq!(schema["properties"]["limit"], json!({ "type": ["integer", "null"] }));
    assert!(has(&notes, "/properties/limit/minimum removed: Anthropic's strict mode does not accept it"), "{notes:?}");

    let recursive = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/N" } }, "required": ["next"],
        "$defs": { "N": { "type": "object", "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/N" }, { "type": "null" }] } }, "required": ["next"] } } });
    assert!(has(&one(Format::Anthropic, true, recursive.clone()).1, "no recursive schemas"));
    assert_eq!(one(Format::OpenAi, true, recursive).0["strict"], true);

    let tools: Vec<ToolDefinition> = (0..25)
        .map(|n| {
            let parameters = json!({ "type": "object", "properties": { "a": { "type": "null" }, "b": { "type": "null" } }, "required": ["a"] });
            ToolDefinition::new(format!("t{n}"), "d", Json::from_value(parameters))
        })
        .collect();
    let all = export(Format::Anthropic, true, &tools);
    let strict = all.tools.iter().filter(|tool| tool["strict"] == true).count();
    assert_eq!((all.tools.len(), strict), (25, 20));
    assert!(all.notes.iter().any(|note| note.text.contains("20 strict tools")), "{:?}", all.notes);
}

#[test]
fn google_gets_openapis_subset() {
    let (written, notes) = one(Format::Google, false, ordinary());
    let properties = &written["parameters"]["properties"];
    assert_eq!(written["parameters"]["type"], "OBJECT");
    assert_eq!(properties["path"], json!({ "type": "STRING", "description": "Which file." }));
    assert_eq!(
        properties["limit"],
        json!({ "type": "INTEGER", "minimum": 0, "maximum": 4_294_967_295u64, "nullable": true })
    );
    assert_eq!(
        properties["mode"],
        json!({ "description": "How.", "anyOf": [
            { "type": "STRING", "enum": ["fast"] },
            { "type": "OBJECT", "properties": { "slow": { "type": "NUMBER", "minimum": 0 } }, "required": ["slow"] }
        ], "nullable": true })
    );
    assert_eq!(properties["tags"]["items"], json!({ "type": "STRING", "minLength": 1 }));
    for part in [
        "/properties/limit/format removed: Google's schema does not know",
        "oneOf `anyOf` instead",
        "exclusiveMinimum `minimum` instead",
        "additionalProperties removed",
    ] {
        assert!(has(&notes, part), "{part}: {notes:#?}");
    }
}

#[test]
fn google_has_no_references_no_type_lists_and_only_strings_to_choose_from() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "tree": { "$ref": "#/$defs/Tree" },
            "both": { "type": ["string", "integer"], "minLength": 2, "minimum": 3, "description": "Either." },
            "level": { "enum": [1, 2, null], "description": "How much." },
            "any": true,
            "list": { "type": "array" }
        },
        "required": ["tree", "gone"],
        "$defs": { "Tree": { "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } } } }
    });
    let (written, notes) = one(Format::Google, false, parameters);
    let properties = &written["parameters"]["properties"];
    assert_eq!(properties["tree"]["properties"]["kids"]["items"], json!({ "type": "OBJECT" }));
    assert_eq!(
        properties["both"],
        json!({ "description": "Either.", "anyOf": [{ "type": "STRING", "minLength": 2 }, { "type": "INTEGER", "minimum": 3 }] })
    );
    assert_eq!(
        properties["level"],
        json!({ "description": "How much. One of: 1, 2", "type": "INTEGER", "nullable": true })
    );
    assert_eq!(properties["any"]["anyOf"].as_array().map(Vec::len), Some(4));
    assert!(properties["list"]["items"].is_object());
    assert_eq!(written["parameters"]["required"], json!(["tree"]));
    assert!(has(&notes, "any object: it refers to itself"), "{notes:?}");
}

#[test]
fn google_wants_other_names_and_no_empty_objects() {
    let named = ToolDefinition::new("2fast", "d", Json::parse("{\"type\":\"object\"}").unwrap());
    let export = |format| export(format, false, [&named]);
    assert!(!export(Format::Google).is_complete());
    assert!(export(Format::OpenAi).is_complete());
    let (written, notes) = one(Format::Google, false, json!({ "type": "object" }));
    assert_eq!((written, notes.len()), (json!({ "name": "t", "description": "Does it." }), 0));
    let document = |export: Export| export.document();
    let greet = tool(json!({ "type": "object" }));
    assert_eq!(
        document(toolgate_formats::export(Format::Google, false, [&greet])),
        json!([{ "functionDeclarations": [{ "name": "t", "description": "Does it." }] }])
    );
}

#[test]
fn a_missing_description_is_advised_against_and_a_long_one_for_other_servers() {
    let parameters = || Json::parse("{\"type\":\"object\"}").unwrap();
    let silent = ToolDefinition::new("t", " ", parameters());
    let notes = export(Format::Mcp, false, [&silent]).notes;
    assert!(notes.len() == 1 && notes[0].level == Level::Advice, "{notes:?}");
    let long = ToolDefinition::new("t", "d".repeat(1_025), parameters());
    assert_eq!(export(Format::OpenAiChat, false, [&long]).notes.len(), 1);
    assert_eq!(export(Format::OpenAi, false, [&long]).notes.len(), 0);
}

#[test]
fn mcp_has_all_there_is() {
    let mut definition = tool(json!({ "properties": {} }));
    definition.label = Some("T".into());
    definition.output = Some(Json::from_value(json!({ "type": "string" })));
    definition.hints.read_only = Some(true);
    definition.meta = Some(Json::from_value(json!({ "a/b": 1 })));
    let export = export(Format::Mcp, false, [&definition]);
    assert_eq!(
        export.tools[0],
        json!({ "name": "t", "title": "T", "description": "Does it.", "inputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true }, "_meta": { "a/b": 1 } })
    );
    assert!(export.notes[0].text.contains("its output schema is left out"), "{:?}", export.notes);
}

/// Schemas come from strangers' components: whatever they are, an export ends soon and is of bounded size.
#[test]
fn hostile_schemas_are_written_in_bounded_size() {
    // References that double at every step.
    let mut defs = serde_json::Map::new();
    for n in 0..40 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(
            format!("d{n}"),
            json!({ "type": "object", "properties": { "a": { "$ref": next }, "b": { "$ref": next } } }),
        );
    }
    defs.insert("d40".into(), json!({ "type": "string" }));
    let doubling = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/d0" } }, "$defs": defs });
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({ "allOf": [deep] });
    }
    let members: Vec<Value> = (0..2_000)
        .map(|n| json!({ "type": "object", "properties": { format!("p{n}"): { "x": "y\n\u{1b}" } } }))
        .collect();
    let odd = json!({ "type": "object", "properties": { "a": { "type": 5, "enum": {}, "properties": [], "items": [], "anyOf": 3, "required": 7, "format": {}, "$ref": 1 },
        "b": { "$ref": "#" }, "c": { "$ref": "#/nowhere" }, "d": { "type": ["odd"], "minItems": -1 }, "e\n": { "pattern": 1 } } });
    for parameters in [
        doubling,
        json!({ "type": "object", "properties": { "d": deep.clone() }, "allOf": [deep] }),
        json!({ "type": "object", "anyOf": members.clone(), "allOf": members }),
        json!({ "$ref": "#" }),
        json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
        odd,
    ] {
        for format in Format::ALL {
            for strict in [false, true] {
                let export = export(format, strict, [&tool(parameters.clone())]);
                let size = serde_json::to_string(&export.tools).unwrap().len();
                assert!(size < 4 << 20 && export.notes.len() <= 102, "{format:?}: {size} bytes");
                assert!(
                    export.notes.iter().all(|note| !note.to_string().contains('\n') && note.to_string().len() < 20_000)
                );
            }
        }
    }
}
