//! Lower hulls of points: only the lowest points bound a clock.

/// Most vertices of a window's hull.
const KEPT: usize = 16;

/// A time, and a difference of two clocks at that time, in ns.
pub(super) type Point = (i64, i64);

/// Reduces `points` to their lower hull, in order of time (Andrew's monotone chain).
pub(super) fn reduce_to_hull(points: &mut Vec<Point>) {
    points.sort_unstable();
    let mut kept = 0;
    for place in 0..points.len() {
        let point = points[place];
        if kept > 0 && points[kept - 1].0 == point.0 {
            // Points are sorted, so the first one at a time is the lowest at that time.
            continue;
        }
        while kept > 1 && turn(points[kept - 2], points[kept - 1], point) <= 0 {
            kept -= 1;
        }
        points[kept] = point;
        kept += 1;
    }
    points.truncate(kept);
}

/// Returns twice the signed area of the triangle; positive if `middle` is below the line from `first` to `last`.
fn turn(first: Point, middle: Point, last: Point) -> i128 {
    let (along, up) = (span(first.0, middle.0), span(first.1, middle.1));
    let (far, high) = (span(first.0, last.0), span(first.1, last.1));
    along * high - up * far
}

fn span(from: i64, to: i64) -> i128 {
    i128::from(to) - i128::from(from)
}

/// Points of a window, in bounded memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Bottom {
    /// The hull, and after it the points added since.
    points: Vec<Point>,
}

impl Bottom {
    pub(super) fn add(&mut self, point: Point) {
        self.points.push(point);
        if self.points.len() >= 2 * KEPT {
            self.shrink();
        }
    }

    /// Reduces the points to the hull; if it has too many vertices, to those where it bends most: bounds become wider,
    /// but not wrong.
    fn shrink(&mut self) {
        reduce_to_hull(&mut self.points);
        while self.points.len() > KEPT {
            let bends = self.points.windows(3);
            let bends = bends.map(|three| turn(three[0], three[1], three[2]));
            let flattest = bends.enumerate().min_by_key(|&(_, bend)| bend);
            let Some((place, _)) = flattest else {
                return;
            };
            // The lowest point stays: it is the window's least difference.
            let lowest = self.points.iter().map(|point| point.1).min();
            let place = if Some(self.points[place + 1].1) == lowest {
                place
            } else {
                place + 1
            };
            self.points.remove(place);
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        for &point in &other.points {
            self.add(point);
        }
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::{Bottom, Point, reduce_to_hull};

    #[test]
    fn a_hull_is_below_all_points_and_touches_them() {
        let mut points: Vec<Point> = vec![(0, 5), (4, 4), (2, 0), (1, 9), (3, 1), (2, 7)];
        reduce_to_hull(&mut points);
        assert_eq!(points, [(0, 5), (2, 0), (3, 1), (4, 4)]);
    }

    #[test]
    fn many_vertices_leave_few_and_the_lowest() {
        let mut bottom = Bottom::default();
        for time in -500..500_i64 {
            bottom.add((time, time * time));
        }
        assert!(bottom.points().len() < 40);
        assert!(bottom.points().iter().any(|point| point.1 == 0));
    }
}
