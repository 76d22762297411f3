//! Finds the connections of packets, in the order of the capture, and keeps what is common to a connection.

pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod fragments;
pub(crate) mod grouping;
pub(crate) mod throughput;
pub(crate) mod tunnels;
