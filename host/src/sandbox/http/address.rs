//! Which addresses are the public internet. Everything else is reached only where a grant says so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not simply granted with its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Someone's own network (the kind, for people). `private = true` grants it.
    Private(&'static str),
    /// Never meant by a name: cloud metadata, multicast, reserved ranges. Only naming the address grants it.
    Literal(&'static str),
}

/// What is special about an address; `None` for the public internet. An IPv6 address that carries an IPv4 address is
/// judged by that.
///
/// Ranges: the IANA special-purpose address registries for IPv4 and IPv6.
pub fn special(addr: IpAddr) -> Option<Special> {
    match addr {
        IpAddr::V4(addr) => special_v4(addr),
        IpAddr::V6(addr) => special_v6(addr),
    }
}

fn special_v4(addr: Ipv4Addr) -> Option<Special> {
    use Special::{Literal, Private};
    Some(match addr.octets() {
        [0, ..] => Literal("unspecified"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private("private"),
        [127, ..] => Private("loopback"),
        [100, 64..=127, ..] => Private("shared (carrier NAT)"),
        [169, 254, ..] => Literal("link-local"),
        [192, 0, 0, _] => Literal("reserved"),
        [192, 88, 99, _] => Literal("6to4 relay"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Literal("documentation"),
        [198, 18..=19, ..] => Literal("benchmarking"),
        [224..=239, ..] => Literal("multicast"),
        [240..=255, ..] => Literal("reserved"),
        _ => return None,
    })
}

fn special_v6(addr: Ipv6Addr) -> Option<Special> {
    use Special::{Literal, Private};
    let carried = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        special_v4(Ipv4Addr::new(a, b, c, d))
    };
    Some(match addr.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Literal("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Private("loopback"),
        // Mapped, compatible, translated (SIIT), NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return carried(high, low),
        [0x64, 0xff9b, 1, ..] => Private("local NAT64"),
        // 6to4.
        [0x2002, high, low, ..] => return carried(high, low),
        [0x2001, 0, ..] => Literal("Teredo"),
        [0x2001, 2, 0, ..] => Literal("benchmarking"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Literal("documentation"),
        [0x2001, 1..=0x1ff, ..] => Literal("reserved"),
        [0xfc00..=0xfdff, ..] if addr == METADATA_V6 => Literal("cloud metadata"),
        [0xfc00..=0xfdff, ..] => Private("unique local"),
        [0xfe80..=0xfebf, ..] => Literal("link-local"),
        [0xfec0..=0xfeff, ..] => Private("site-local"),
        [0xff00..=0xffff, ..] => Literal("multicast"),
        // ISATAP: whatever the prefix, the packets go to the IPv4 address inside.
        [0x2000..=0x3fff, .., 0 | 0x200, 0x5efe, high, low] => return carried(high, low),
        [0x2000..=0x3fff, ..] => return None,
        // Only 2000::/3 is given out.
        _ => Literal("reserved"),
    })
}

/// Amazon's instance metadata over IPv6, the one such service outside the link-local range.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_public_internet_is_what_is_left() {
        for (addr, expect) in [
            ("1.1.1.1", ""),
            ("9.255.255.255", ""),
            ("100.63.255.255", ""),
            ("100.128.0.0", ""),
            ("172.15.255.255", ""),
            ("172.32.0.0", ""),
            ("192.0.1.1", ""),
            ("198.17.0.1", ""),
            ("198.20.0.1", ""),
            ("223.255.255.255", ""),
            ("2606:4700::1111", ""),
            ("2001:200::1", ""),
            ("2a00:1450::1", ""),
            ("::ffff:1.1.1.1", ""),
            ("64:ff9b::1.1.1.1", ""),
            ("2002:101:101::1", ""),
            ("2606:4700::5efe:1.1.1.1", ""),
            ("0.0.0.0", "L unspecified"),
            ("0.1.2.3", "L unspecified"),
            ("10.0.0.1", "P private"),
            ("172.16.0.1", "P private"),
            ("172.31.255.255", "P private"),
            ("192.168.1.1", "P private"),
            ("127.0.0.1", "P loopback"),
            ("127.255.0.3", "P loopback"),
            ("100.64.0.1", "P shared (carrier NAT)"),
            ("100.127.255.255", "P shared (carrier NAT)"),
            ("169.254.169.254", "L link-local"),
            ("192.0.0.8", "L reserved"),
            ("192.0.2.1", "L documentation"),
            ("198.51.100.1", "L documentation"),
            ("203.0.113.1", "L documentation"),
            ("198.18.0.1", "L benchmarking"),
            ("198.19.255.255", "L benchmarking"),
            ("192.88.99.1", "L 6to4 relay"),
            ("224.0.0.1", "L multicast"),
            ("239.255.255.255", "L multicast"),
            ("240.0.0.1", "L reserved"),
            ("255.255.255.255", "L reserved"),
            ("::", "L unspecified"),
            ("::1", "P loopback"),
            ("::2", "L unspecified"),
            ("::127.0.0.1", "P loopback"),
            ("::ffff:127.0.0.1", "P loopback"),
            ("::ffff:169.254.169.254", "L link-local"),
            ("::ffff:0:10.0.0.1", "P private"),
            ("64:ff9b::10.0.0.1", "P private"),
            ("64:ff9b:1::1", "P local NAT64"),
            ("2002:7f00:1::", "P loopback"),
            ("2002:a9fe:a9fe::", "L link-local"),
            ("2606:4700::5efe:10.0.0.1", "P private"),
            ("2606:4700::200:5efe:127.0.0.1", "P loopback"),
            ("2001::1", "L Teredo"),
            ("2001:2::1", "L benchmarking"),
            ("2001:db8::1", "L documentation"),
            ("3fff:fff::1", "L documentation"),
            ("2001:10::1", "L reserved"),
            ("fc00::1", "P unique local"),
            ("fdff::1", "P unique local"),
            ("fd00:ec2::254", "L cloud metadata"),
            ("fe80::1", "L link-local"),
            ("febf::1", "L link-local"),
            ("fec0::1", "P site-local"),
            ("ff02::1", "L multicast"),
            ("100::1", "L reserved"),
            ("4000::1", "L reserved"),
            ("5f00::1", "L reserved"),
        ] {
            let found = match special(addr.parse().expect(addr)) {
                None => String::new(),
                Some(Special::Private(kind)) => format!("P {kind}"),
                Some(Special::Literal(kind)) => format!("L {kind}"),
            };
            assert_eq!(found, expect, "{addr}");
        }
    }
}
