//! The program with a wheel.

mod program;

fn main() -> std::io::Result<()> {
    program::run::<timer_wheel::Wheel<u32>>()
}
