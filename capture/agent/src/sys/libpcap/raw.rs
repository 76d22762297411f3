//! libpcap as pcap.h declares it: the calls and structures that the agent needs.
#![allow(missing_docs)]

use std::ffi::{c_char, c_int, c_uchar, c_uint};

#[repr(C)]
pub struct Handle {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct PacketHeader {
    pub time: libc::timeval,
    pub captured: u32,
    pub length: u32,
}

#[repr(C)]
pub struct Program {
    pub length: c_uint,
    pub instructions: *mut libc::sock_filter,
}

#[repr(C)]
#[derive(Default)]
pub struct RawStatistics {
    pub received: c_uint,
    pub dropped: c_uint,
    pub interface_dropped: c_uint,
}

pub type Handler = extern "C" fn(*mut c_uchar, *const PacketHeader, *const c_uchar);

// Signatures of pcap.h, libpcap 1.5 and later.
#[link(name = "pcap")]
unsafe extern "C" {
    pub fn pcap_create(source: *const c_char, error: *mut c_char) -> *mut Handle;
    pub fn pcap_set_snaplen(handle: *mut Handle, bytes: c_int) -> c_int;
    pub fn pcap_set_promisc(handle: *mut Handle, on: c_int) -> c_int;
    pub fn pcap_set_timeout(handle: *mut Handle, milliseconds: c_int) -> c_int;
    pub fn pcap_set_buffer_size(handle: *mut Handle, bytes: c_int) -> c_int;
    pub fn pcap_set_tstamp_precision(handle: *mut Handle, precision: c_int) -> c_int;
    pub fn pcap_get_tstamp_precision(handle: *mut Handle) -> c_int;
    pub fn pcap_activate(handle: *mut Handle) -> c_int;
    pub fn pcap_setnonblock(handle: *mut Handle, on: c_int, error: *mut c_char) -> c_int;
    pub fn pcap_get_selectable_fd(handle: *mut Handle) -> c_int;
    pub fn pcap_datalink(handle: *mut Handle) -> c_int;
    pub fn pcap_datalink_val_to_name(link_type: c_int) -> *const c_char;
    pub fn pcap_compile(
        handle: *mut Handle,
        program: *mut Program,
        text: *const c_char,
        optimize: c_int,
        netmask: c_uint,
    ) -> c_int;
    pub fn pcap_setfilter(handle: *mut Handle, program: *mut Program) -> c_int;
    pub fn pcap_freecode(program: *mut Program);
    pub fn pcap_dispatch(
        handle: *mut Handle,
        count: c_int,
        handler: Handler,
        user: *mut c_uchar,
    ) -> c_int;
    pub fn pcap_stats(handle: *mut Handle, statistics: *mut RawStatistics) -> c_int;
    pub fn pcap_geterr(handle: *mut Handle) -> *const c_char;
    pub fn pcap_statustostr(code: c_int) -> *const c_char;
    pub fn pcap_lib_version() -> *const c_char;
    pub fn pcap_close(handle: *mut Handle);
}
