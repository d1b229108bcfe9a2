//! The program with a wheel whose timers are in a lane.

mod program;

fn main() -> std::io::Result<()> {
    program::run::<timer_wheel_bench::queue::InLane<u32>>()
}
