//! Redaction of a whole result: every text a model, a program or a transcript would get of it.

use toolgate_sdk::serde::de::IgnoredAny;
use toolgate_sdk::serde_json;
use toolgate_sdk::{Content, Override, ResourceBody, ToolResult};

use crate::json;
use crate::redactor::Redactor;

/// The override that takes the secrets out, and how many places it changes; `None` for a result without a secret.
pub fn redact(result: &ToolResult, redactor: &Redactor) -> Option<(Override, usize)> {
    let mut pass = Pass { redactor, count: 0 };

    let mut content = result.content.clone();
    for block in &mut content {
        pass.block(block);
    }
    let content_changed = pass.count > 0;

    let structured_content = result.structured_content.as_deref().and_then(|json| pass.json(json));
    let details = result.details.as_deref().and_then(|json| pass.json(json));
    if pass.count == 0 {
        return None;
    }

    // Details that are an object say how often; of another shape they stay what they are.
    let details = match &result.details {
        Some(original) => {
            json::with_member(details.as_deref().unwrap_or(original), "redactions", pass.count).or(details)
        }
        None => None,
    };
    let over = Override {
        // Content alone would drop the other copy, so that goes along unchanged.
        structured_content: match structured_content {
            None if content_changed => result.structured_content.clone(),
            changed => changed,
        },
        content: content_changed.then_some(content),
        details,
        ..Override::default()
    };
    Some((over, pass.count))
}

struct Pass<'a> {
    redactor: &'a Redactor,
    count: usize,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Content) {
        match block {
            Content::Text(text) => {
                self.text(&mut text.text);
                self.metadata(&mut text.annotations, &mut text.meta);
            }
            Content::Image(media) | Content::Audio(media) => self.metadata(&mut media.annotations, &mut media.meta),
            Content::ResourceLink(link) => {
                self.text(&mut link.uri);
                self.text(&mut link.name);
                for text in [&mut link.title, &mut link.description].into_iter().flatten() {
                    self.text(text);
                }
                self.metadata(&mut link.annotations, &mut link.meta);
            }
            Content::EmbeddedResource(resource) => {
                self.text(&mut resource.uri);
                match &mut resource.body {
                    ResourceBody::Text(text) => self.text(text),
                    // Text that a tool gave as bytes.
                    ResourceBody::Blob(blob) => {
                        if let Ok(text) = std::str::from_utf8(blob)
                            && let Some(text) = self.redacted(text)
                        {
                            *blob = text.into_bytes();
                        }
                    }
                }
                self.metadata(&mut resource.annotations, &mut resource.meta);
            }
        }
    }

    fn metadata(&mut self, annotations: &mut Option<String>, meta: &mut Option<String>) {
        for json in [annotations, meta].into_iter().flatten() {
            if let Some(changed) = self.json(json) {
                *json = changed;
            }
        }
    }

    fn text(&mut self, text: &mut String) {
        if let Some(changed) = self.redacted(text) {
            *text = changed;
        }
    }

    /// A text that is a JSON document is treated as one, so that it stays one and equal to a structured copy.
    fn redacted(&mut self, text: &str) -> Option<String> {
        let is_json = text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok();
        if is_json {
            return self.json(text);
        }
        let (changed, count) = self.redactor.text(text)?;
        self.count += count;
        Some(changed)
    }

    fn json(&mut self, json: &str) -> Option<String> {
        json::rewrite(json, |key, text| {
            let (changed, count) = match key {
                Some(key) => self.redactor.value(key, text),
                None => self.redactor.text(text),
            }?;
            self.count += count;
            Some(changed)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use toolgate_sdk::serde_json::json;
    use toolgate_sdk::{IntoToolResult, Json};

    use super::*;

    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

    fn run(result: &ToolResult) -> Option<(Override, usize)> {
        redact(result, &Redactor::new(&[], vec![], "[redacted]".into()).unwrap())
    }

    #[test]
    fn both_copies_of_an_answer_stay_equal() {
        let answer = json!({"token": TOKEN, "password": "hun\"ter2", "list": [TOKEN, "fine", 1.5], "n": 7});
        let result = Json(answer).into_tool_result().unwrap();
        let (over, count) = run(&result).unwrap();
        let text = over.content.unwrap().remove(0).as_text().unwrap().to_owned();
        assert_eq!(Some(&text), over.structured_content.as_ref());
        let expected =
            json!({"token": "[redacted]", "password": "[redacted]", "list": ["[redacted]", "fine", 1.5], "n": 7});
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
        assert_eq!(count, 6);
        assert_eq!(over.details, None);
    }

    #[test]
    fn a_structured_copy_without_a_secret_is_kept_beside_changed_content() {
        let result = ToolResult::text(TOKEN).structured_content(json!({"lines": 1}));
        let (over, _) = run(&result).unwrap();
        assert_eq!(over.structured_content.as_deref(), Some(r#"{"lines":1}"#));
    }

    #[test]
    fn details_keep_their_shape() {
        let secret_in = |details: &str| {
            let result = ToolResult { details: Some(details.into()), ..ToolResult::text("x") };
            run(&result).map(|(over, _)| (over.content.is_some(), over.details.unwrap()))
        };
        let object = format!(r#"{{"diff":"+ {TOKEN}","size":1.50}}"#);
        assert_eq!(
            secret_in(&object).unwrap(),
            (false, r#"{"diff":"+ [redacted]","size":1.50,"redactions":1}"#.into())
        );
        let list = format!(r#"["{TOKEN}"]"#);
        assert_eq!(secret_in(&list).unwrap(), (false, r#"["[redacted]"]"#.into()));
        assert_eq!(secret_in("null"), None);
        let own = format!(r#"{{"redactions":"mine","x":"{TOKEN}"}}"#);
        assert_eq!(secret_in(&own).unwrap().1, r#"{"redactions":"mine","x":"[redacted]"}"#);
        let null = ToolResult { details: Some("null".into()), ..ToolResult::text(TOKEN) };
        assert_eq!(run(&null).unwrap().0.details, None);
    }

    #[test]
    fn every_kind_of_block_is_looked_through_and_the_rest_kept() {
        let mut link = Content::resource_link(format!("https://h/?access_token={TOKEN}"), "n");
        if let Content::ResourceLink(link) = &mut link {
            link.description = Some(TOKEN.into());
            link.meta = Some(format!(r#"{{"t":"{TOKEN}"}}"#));
        }
        let result = ToolResult::new()
            .content("fine")
            .content(Content::image([1, 2, 255], "image/png"))
            .content(link)
            .content(Content::resource("file:///k", TOKEN))
            .content(Content::resource_blob("file:///b", format!("k={TOKEN}").into_bytes()))
            .content(Content::resource_blob("file:///c", [255, 1]));
        let (over, count) = run(&result).unwrap();
        assert_eq!(count, 5);
        let content = over.content.unwrap();
        assert_eq!(content[..2], result.content[..2]);
        assert_eq!(content[5], result.content[5]);
        assert!(!format!("{content:?}").contains("ghp_"), "{content:?}");
        assert_eq!(content[3], Content::resource("file:///k", "[redacted]"));
        assert_eq!(content[4], Content::resource_blob("file:///b", *b"k=[redacted]"));
    }
}
