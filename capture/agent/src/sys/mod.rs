//! Turns libpcap and raw Linux calls into safe functions. All `unsafe` of the agent is here.
#![allow(unsafe_code)]

pub mod libpcap;
pub mod link;
pub mod linux;
