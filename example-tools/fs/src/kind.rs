//! What a file is, from its first bytes: text, an image a model can look at, or something else with a name.

/// Bytes looked at.
pub const PROBE: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// With its MIME type.
    Image(&'static str),
    /// With a name for people.
    Binary(&'static str),
}

const NAMED: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a universal Mach-O program"),
    (b"\0asm", "a WebAssembly file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"OggS", "Ogg media"),
    (b"ID3", "an MP3 file"),
    (b"BM", "a BMP image"),
];

/// Judges by the first [`PROBE`] bytes, or fewer where the file is shorter.
pub fn kind(start: &[u8]) -> Kind {
    let start = start.get(..PROBE).unwrap_or(start);
    if let Some(mime) = image(start) {
        return Kind::Image(mime);
    }
    let name = NAMED.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, name)| *name);
    // Short signatures of ASCII letters are words too: text that has no NUL stays text.
    match name {
        _ if start.contains(&0) => Kind::Binary(name.unwrap_or("a binary file")),
        Some(name) if std::str::from_utf8(start).is_err_and(|error| error.error_len().is_some()) => Kind::Binary(name),
        Some(name @ "a PDF document") => Kind::Binary(name),
        _ => Kind::Text,
    }
}

fn image(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_first_bytes() {
        for (start, expected) in [
            (&b""[..], Kind::Text),
            (b"fn main() {}\n", Kind::Text),
            ("größer".as_bytes(), Kind::Text),
            (b"caf\xe9 in Latin-1", Kind::Text),
            (b"MZ is how this note begins", Kind::Text),
            (b"BMW and other cars", Kind::Text),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Kind::Image("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Kind::Image("image/jpeg")),
            (b"GIF89a\x01\0", Kind::Image("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Kind::Image("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", Kind::Binary("a binary file")),
            (b"%PDF-1.7\n", Kind::Binary("a PDF document")),
            (b"\x1f\x8b\x08\xff", Kind::Binary("gzip data")),
            (b"\x7fELF\x02\x01\x01\0", Kind::Binary("an ELF program or library")),
            (b"\0asm\x0d\0\x01\0", Kind::Binary("a WebAssembly file")),
            (b"\xff\xfeh\0i\0", Kind::Binary("UTF-16 text")),
            (b"some\0data", Kind::Binary("a binary file")),
        ] {
            assert_eq!(kind(start), expected, "{:?}", String::from_utf8_lossy(start));
        }
    }
}
