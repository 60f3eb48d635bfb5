//! What stands between a client and this process: proxies that name the client, and browsers that run pages of
//! other websites. Pure decisions on addresses and headers, for the gateway and the analysis server alike; whoever
//! asks writes the answer.

pub(crate) mod client;
pub(crate) mod cors;

pub(crate) use client::client;
