//! Tools that reach for what may not be granted, by the host's interfaces themselves: the language's own libraries
//! refuse some of it before the host is asked.

use toolgate_sdk::prelude::*;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use wasip2::http::types::Fields;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

#[derive(Deserialize, JsonSchema)]
pub struct FileOp {
    /// `open`, `open-write`, `create`, `stat`, `readlink`, `mkdir`, `rmdir`, `remove`, `rename`, `link`, `symlink`,
    /// `times`, `times-fd`, `size-fd`, `write-fd`, `stream-fd`, `append-fd`.
    op: String,
    path: String,
    /// Of `rename` and `link` the new path, of `symlink` what it leads to.
    #[serde(default)]
    to: String,
    /// The granted directory the path is in, by its place.
    #[serde(default)]
    grant: usize,
    /// The one the new path is in.
    #[serde(default)]
    to_grant: usize,
}

/// Does one thing to a file.
#[tool(name = "file-op")]
pub fn file_op(args: FileOp) -> Result<String, ToolError> {
    let dirs = get_directories();
    let dir = |at: usize| dirs.get(at).map(|(dir, _)| dir).ok_or_else(|| ToolError::from("no such grant"));
    let (from, to) = (dir(args.grant)?, dir(args.to_grant)?);
    let done = act(from, to, &args).map_err(|code| ToolError::from(format!("refused: {}", code.name())))?;
    Ok(done)
}

fn act(dir: &Descriptor, to_dir: &Descriptor, args: &FileOp) -> Result<String, ErrorCode> {
    let (path, to) = (&*args.path, &*args.to);
    let follow = PathFlags::SYMLINK_FOLLOW;
    let open = |open, flags| dir.open_at(follow, path, open, flags);
    let opened = || open(OpenFlags::empty(), DescriptorFlags::READ);
    match &*args.op {
        "open" => drop(opened()?),
        "open-write" => drop(open(OpenFlags::empty(), DescriptorFlags::WRITE)?),
        "create" => drop(open(OpenFlags::CREATE, DescriptorFlags::WRITE)?),
        "stat" => drop(dir.stat_at(follow, path)?),
        "readlink" => return dir.readlink_at(path),
        "mkdir" => dir.create_directory_at(path)?,
        "rmdir" => dir.remove_directory_at(path)?,
        "remove" => dir.unlink_file_at(path)?,
        "rename" => dir.rename_at(path, to_dir, to)?,
        "link" => dir.link_at(PathFlags::empty(), path, to_dir, to)?,
        "symlink" => dir.symlink_at(to, path)?,
        "times" => dir.set_times_at(follow, path, NewTimestamp::Now, NewTimestamp::Now)?,
        "times-fd" => opened()?.set_times(NewTimestamp::Now, NewTimestamp::Now)?,
        "size-fd" => opened()?.set_size(0)?,
        "write-fd" => drop(opened()?.write(b"changed", 0)?),
        "stream-fd" => drop(opened()?.write_via_stream(0)?),
        "append-fd" => drop(opened()?.append_via_stream()?),
        _ => return Err(ErrorCode::Unsupported),
    }
    Ok("done".into())
}

#[derive(Deserialize, JsonSchema)]
pub struct Socket {
    /// `tcp`, `udp`, `tcp6`, `udp6`; anything else is a name to be looked up.
    kind: String,
    /// How often; once by default.
    times: Option<u32>,
}

/// Tries to get at the network.
#[tool]
pub fn socket(args: Socket) -> Result<String, ToolError> {
    let mut last = Ok(());
    for _ in 0..args.times.unwrap_or(1) {
        last = match &*args.kind {
            "tcp" => create_tcp_socket(IpAddressFamily::Ipv4).map(drop),
            "tcp6" => create_tcp_socket(IpAddressFamily::Ipv6).map(drop),
            "udp" => create_udp_socket(IpAddressFamily::Ipv4).map(drop),
            "udp6" => create_udp_socket(IpAddressFamily::Ipv6).map(drop),
            name => resolve_addresses(&instance_network(), name).map(drop),
        };
    }
    last.map_err(|code| ToolError::from(format!("refused: {}", code.name())))?;
    Ok("got it".into())
}

#[derive(Deserialize, JsonSchema)]
pub struct Header {
    name: String,
    /// `append`, `set` or `list`.
    how: String,
}

/// Sets a header of a request.
#[tool(name = "set-header")]
pub fn set_header(args: Header) -> Result<String, ToolError> {
    let (name, value) = (args.name, b"x".to_vec());
    let fields = Fields::new();
    match &*args.how {
        "append" => fields.append(&name, &value),
        "set" => fields.set(&name, &[value]),
        _ => Fields::from_list(&[(name, value)]).map(drop),
    }
    .map_err(|error| ToolError::from(format!("refused: {error:?}")))?;
    Ok("set".into())
}

#[derive(Deserialize, JsonSchema)]
pub struct Extra {
    /// Put there as it is.
    annotations: Option<String>,
    meta: Option<String>,
    /// Of an image that is none, in bytes; a text without it.
    image: Option<usize>,
    /// Whether it is an update.
    #[serde(default)]
    update: bool,
}

/// Answers with annotations of its own making.
#[tool]
pub fn annotate(args: Extra, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    let (annotations, meta) = (args.annotations, args.meta);
    let block = match args.image {
        Some(bytes) => toolgate_sdk::Content::Image(toolgate_sdk::Media {
            data: vec![0xff; bytes],
            mime_type: "image/\u{1b}[2Jpng\n".into(),
            annotations,
            meta,
        }),
        None => toolgate_sdk::Content::Text(toolgate_sdk::Text { text: "t".into(), annotations, meta }),
    };
    let result = ToolResult::new().content(block);
    if args.update {
        cx.update(result);
        return Ok(ToolResult::text("sent"));
    }
    Ok(result)
}
