//! Networks of addresses as written in the configuration, for the guard's allow-list.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A network such as `10.1.0.0/16` or `fd00::/8`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(IpNet);

impl Network {
    /// Tells whether the network contains an address. IPv4-mapped addresses count as IPv4;
    /// addresses that merely embed an IPv4 address do not.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.0.contains(&ip.to_canonical())
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = text.parse::<IpAddr>().map(IpNet::from);
        let network = one.or_else(|_| text.parse()).map_err(|_| {
            format!("{text:?} is not a network; write 10.1.0.0/16, fd00::/8 or one address")
        })?;
        if network.trunc() != network {
            return Err(format!(
                "{text:?} has bits beyond its prefix; the network is {}",
                network.trunc()
            ));
        }
        Ok(Self(network))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let check = |network: &str, ip: &str, expected| {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(ip.parse().unwrap()), expected, "{ip}");
        };
        check("10.1.0.0/16", "10.1.2.3", true);
        check("10.1.0.0/16", "::ffff:10.1.2.3", true);
        check("10.1.0.0/16", "64:ff9b::10.1.2.3", false);
        check("10.1.0.0/16", "10.2.0.1", false);
        check("10.1.2.3", "10.1.2.3", true);
        check("10.1.2.3", "10.1.2.4", false);
        check("fd00::/8", "fd12::1", true);
    }

    #[test]
    fn networks_are_shown_as_they_are_written() {
        for text in ["10.1.0.0/16", "10.1.2.3", "fd00::/8", "::1"] {
            let network: Network = text.parse().unwrap();
            assert_eq!(network.to_string(), text);
        }
        for text in ["", "10.1.2.3/16", "10.0.0.0/33", "intranet.example"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
