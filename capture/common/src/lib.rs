//! Code that `flowsweep-capture` and `flowsweep-wan` share: both run as root in folders of others, so neither follows a
//! link nor keeps a right that it does not need.

pub mod output;
pub mod privileges;
mod sys;
