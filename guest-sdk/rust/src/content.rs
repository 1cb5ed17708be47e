//! Content blocks: what a tool's answer is made of.

use crate::{Content, EmbeddedResource, Media, ResourceBody, ResourceLink, Text};

impl Content {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), annotations: None, meta: None })
    }

    /// An image, for example of type `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None })
    }

    /// A sound, for example of type `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio(Media { data: data.into(), mime_type: mime_type.into(), annotations: None, meta: None })
    }

    /// A pointer to something the model or the user may read elsewhere. For the other fields build a
    /// [`ResourceLink`].
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            meta: None,
        })
    }

    /// A text given in place under a name of its own.
    pub fn resource(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::embedded(uri.into(), ResourceBody::Text(text.into()))
    }

    /// Bytes given in place under a name of their own.
    pub fn resource_blob(uri: impl Into<String>, blob: impl Into<Vec<u8>>) -> Self {
        Self::embedded(uri.into(), ResourceBody::Blob(blob.into()))
    }

    fn embedded(uri: String, body: ResourceBody) -> Self {
        Self::EmbeddedResource(EmbeddedResource { uri, mime_type: None, body, annotations: None, meta: None })
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
