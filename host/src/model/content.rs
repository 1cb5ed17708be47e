//! Content blocks: MCP's five, in MCP's wire form. Binary data is kept as bytes and encoded when written out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Json;

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
                map.serialize_entry("data", &STANDARD.encode(data))?;
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
            ResourceBody::Blob(data) => map.serialize_entry("blob", &STANDARD.encode(data))?,
        }
        map.end()
    }
}

fn entry<M: SerializeMap>(map: &mut M, key: &str, value: &Option<impl Serialize>) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}
