//! Content blocks: MCP's five, in MCP's wire form. Binary data is kept as bytes and encoded when written out.

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Json;
use super::json::given;

/// MCP's optional `annotations` and `_meta` of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentMeta {
    /// MCP annotations, a JSON object.
    pub annotations: Option<Json>,
    /// MCP `_meta`, a JSON object.
    pub meta: Option<Json>,
}

/// The body of an embedded resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes; base64 on the wire.
    Blob(Bytes),
}

/// One block of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text {
        /// The text.
        text: String,
        /// Annotations.
        extra: ContentMeta,
    },
    /// An image.
    Image {
        /// The bytes; base64 on the wire.
        data: Bytes,
        /// For example `image/png`.
        mime_type: String,
        /// Annotations.
        extra: ContentMeta,
    },
    /// A sound.
    Audio {
        /// The bytes; base64 on the wire.
        data: Bytes,
        /// For example `audio/wav`.
        mime_type: String,
        /// Annotations.
        extra: ContentMeta,
    },
    /// A pointer to a resource.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
        /// A name for people.
        title: Option<String>,
        /// What it is.
        description: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
        /// Its size in bytes.
        size: Option<f64>,
        /// Annotations.
        extra: ContentMeta,
    },
    /// A resource given in place.
    Resource {
        /// Where it came from.
        uri: String,
        /// Its media type.
        mime_type: Option<String>,
        /// What it holds.
        body: ResourceBody,
        /// Annotations.
        extra: ContentMeta,
    },
}

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: ContentMeta::default() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    fn extra(&self) -> &ContentMeta {
        match self {
            Self::Text { extra, .. }
            | Self::Image { extra, .. }
            | Self::Audio { extra, .. }
            | Self::ResourceLink { extra, .. }
            | Self::Resource { extra, .. } => extra,
        }
    }

    /// Bytes this block holds, annotations included; what the result limit counts.
    pub fn size(&self) -> usize {
        let optional = |s: &Option<String>| s.as_ref().map_or(0, String::len);
        let json = |j: &Option<Json>| j.as_ref().map_or(0, Json::len);
        let own = match self {
            Self::Text { text, .. } => text.len(),
            Self::Image { data, mime_type, .. } | Self::Audio { data, mime_type, .. } => data.len() + mime_type.len(),
            Self::ResourceLink { uri, name, title, description, mime_type, .. } => {
                uri.len() + name.len() + optional(title) + optional(description) + optional(mime_type)
            }
            Self::Resource { uri, mime_type, body, .. } => {
                uri.len()
                    + optional(mime_type)
                    + match body {
                        ResourceBody::Text(text) => text.len(),
                        ResourceBody::Blob(data) => data.len(),
                    }
            }
        };
        own + json(&self.extra().annotations) + json(&self.extra().meta)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text { text, .. } => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Self::Image { data, mime_type, .. } | Self::Audio { data, mime_type, .. } => {
                map.serialize_entry("type", if matches!(self, Self::Image { .. }) { "image" } else { "audio" })?;
                map.serialize_entry("data", &Encoded(data))?;
                map.serialize_entry("mimeType", mime_type)?;
            }
            Self::ResourceLink { uri, name, title, description, mime_type, size, .. } => {
                map.serialize_entry("type", "resource_link")?;
                map.serialize_entry("uri", uri)?;
                map.serialize_entry("name", name)?;
                entry(&mut map, "title", title)?;
                entry(&mut map, "description", description)?;
                entry(&mut map, "mimeType", mime_type)?;
                match size {
                    // Sizes are whole numbers on the wire.
                    Some(n) if n.fract() == 0.0 && (0.0..9e15).contains(n) => {
                        map.serialize_entry("size", &(*n as u64))?
                    }
                    Some(n) if n.is_finite() => map.serialize_entry("size", n)?,
                    _ => {}
                }
            }
            Self::Resource { uri, mime_type, body, .. } => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry("resource", &Embedded { uri, mime_type, body })?;
            }
        }
        entry(&mut map, "annotations", &self.extra().annotations)?;
        entry(&mut map, "_meta", &self.extra().meta)?;
        map.end()
    }
}

struct Embedded<'a> {
    uri: &'a str,
    mime_type: &'a Option<String>,
    body: &'a ResourceBody,
}

impl Serialize for Embedded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", self.uri)?;
        entry(&mut map, "mimeType", self.mime_type)?;
        match self.body {
            ResourceBody::Text(text) => map.serialize_entry("text", text)?,
            ResourceBody::Blob(data) => map.serialize_entry("blob", &Encoded(data))?,
        }
        map.end()
    }
}

/// Bytes as base64, encoded into the writer piece by piece: a picture is large enough once.
struct Encoded<'a>(&'a [u8]);

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

fn entry<M: SerializeMap>(map: &mut M, key: &str, value: &Option<impl Serialize>) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

/// Every key that a block of any type may have: which of them it needs depends on the type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    size: Option<f64>,
    resource: Option<WireResource>,
    #[serde(default, deserialize_with = "given")]
    annotations: Option<Json>,
    #[serde(default, rename = "_meta", deserialize_with = "given")]
    meta: Option<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let need = |field: Option<String>, name: &'static str| field.ok_or_else(|| D::Error::missing_field(name));
        let bytes = |text: String| STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom);
        let extra = ContentMeta { annotations: wire.annotations, meta: wire.meta };
        Ok(match wire.kind.as_str() {
            "text" => Self::Text { text: need(wire.text, "text")?, extra },
            kind @ ("image" | "audio") => {
                let data = bytes(need(wire.data, "data")?)?;
                let mime_type = need(wire.mime_type, "mimeType")?;
                if kind == "image" {
                    Self::Image { data, mime_type, extra }
                } else {
                    Self::Audio { data, mime_type, extra }
                }
            }
            "resource_link" => Self::ResourceLink {
                uri: need(wire.uri, "uri")?,
                name: need(wire.name, "name")?,
                title: wire.title,
                description: wire.description,
                mime_type: wire.mime_type,
                size: wire.size,
                extra,
            },
            "resource" => {
                let WireResource { uri, mime_type, text, blob } =
                    wire.resource.ok_or_else(|| D::Error::missing_field("resource"))?;
                let body = match (text, blob) {
                    (Some(text), None) => ResourceBody::Text(text),
                    (None, Some(blob)) => ResourceBody::Blob(bytes(blob)?),
                    _ => return Err(D::Error::custom("a resource has either text or blob")),
                };
                Self::Resource { uri, mime_type, body, extra }
            }
            other => {
                let known = &["text", "image", "audio", "resource_link", "resource"];
                return Err(D::Error::unknown_variant(other, known));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_block_is_read_as_it_was_written() {
        let extra = || ContentMeta { annotations: Some(Json::parse(r#"{"priority":0.10}"#).unwrap()), meta: None };
        let resource =
            |body| Content::Resource { uri: "u:r".into(), mime_type: Some("a/b".into()), body, extra: extra() };
        let link = |size| Content::ResourceLink {
            uri: "u:l".into(),
            name: "l".into(),
            title: None,
            description: Some("d".into()),
            mime_type: None,
            size,
            extra: ContentMeta::default(),
        };
        let data = Bytes::from_static(&[0, 255, 10]);
        for block in [
            Content::text("a\u{0}\n\"é"),
            Content::Text { text: String::new(), extra: extra() },
            Content::Image { data: data.clone(), mime_type: "image/png".into(), extra: extra() },
            Content::Audio { data: data.clone(), mime_type: "audio/wav".into(), extra: extra() },
            link(None),
            link(Some(12.0)),
            link(Some(0.5)),
            resource(ResourceBody::Text("t".into())),
            resource(ResourceBody::Blob(data)),
        ] {
            let text = serde_json::to_string(&block).unwrap();
            assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), block, "{text}");
        }
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for (text, why) in [
            (r#"{"type":"text"}"#, "missing field `text`"),
            (r#"{"type":"image","data":"!","mimeType":"a/b"}"#, "Invalid symbol"),
            (r#"{"type":"resource","resource":{"uri":"u","text":"a","blob":""}}"#, "either text or blob"),
            (r#"{"type":"video"}"#, "unknown variant `video`"),
            (r#"{"text":"t"}"#, "missing field `type`"),
        ] {
            let error = serde_json::from_str::<Content>(text).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
