//! Small line plots as SVG, for docs/performance.md.

use std::fmt::Write as _;

/// Lines over one axis each way; the horizontal one is logarithmic, with zero at its left end.
pub struct Plot {
    /// Above it.
    pub title: String,
    /// What grows.
    pub x: String,
    /// Names and points, µs per call.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
const COLOURS: [&str; 4] = ["#1f6feb", "#d1242f", "#1a7f37", "#8250df"];

/// The picture.
pub fn draw(plot: &Plot) -> String {
    let points = || plot.lines.iter().flat_map(|(_, points)| points.iter().copied());
    let top = round_up(points().map(|(_, y)| y).fold(0.0, f64::max));
    let place = |x: f64| (x + 1.0).log10();
    let least = points().map(|(x, _)| place(x)).fold(f64::INFINITY, f64::min);
    let most = points().map(|(x, _)| place(x)).fold(0.0, f64::max);
    let at_x = |x: f64| LEFT + (place(x) - least) / (most - least).max(f64::MIN_POSITIVE) * (WIDTH - LEFT - RIGHT);
    let at_y = |y: f64| HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);

    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/><text x="{LEFT}" y="20" font-size="14">{}</text>"##,
        plot.title
    );
    // Writing into a string cannot fail.
    for step in 0..=4 {
        let y = top * f64::from(step) / 4.0;
        let _ = write!(
            svg,
            r##"<line x1="{LEFT}" x2="{}" y1="{1:.1}" y2="{1:.1}" stroke="#ddd"/><text x="{2}" y="{3:.1}" text-anchor="end">{4}</text>"##,
            WIDTH - RIGHT,
            at_y(y),
            LEFT - 6.0,
            at_y(y) + 4.0,
            number(y)
        );
    }
    let mut xs: Vec<f64> = points().map(|(x, _)| x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    for x in xs {
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{}" text-anchor="middle">{}</text>"#,
            at_x(x),
            HEIGHT - BOTTOM + 18.0,
            number(x)
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{}" y="{}" text-anchor="middle">{}</text><text x="14" y="{}" transform="rotate(-90 14 {3})" text-anchor="middle">µs per call</text>"#,
        (WIDTH + LEFT - RIGHT) / 2.0,
        HEIGHT - 8.0,
        plot.x,
        (HEIGHT - BOTTOM + TOP) / 2.0
    );
    for ((name, points), (n, colour)) in plot.lines.iter().zip(COLOURS.iter().enumerate()) {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y))).collect();
        let _ =
            write!(svg, r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#, path.join(" "));
        for (x, y) in points {
            let _ = write!(svg, r#"<circle cx="{:.1}" cy="{:.1}" r="3" fill="{colour}"/>"#, at_x(*x), at_y(*y));
        }
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="end" fill="{colour}">{name}</text>"#,
            WIDTH - RIGHT,
            20.0 + 16.0 * n as f64
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn number(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// The next number of the form 1, 2, 4 or 8 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-3).log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0].into_iter().map(|n| n * power).find(|n| *n >= value).unwrap_or(value)
}
