#include "cart_pole.h"

#include <cmath>

namespace cart_pole {
namespace {

constexpr double kGravity = 9.8;      // m/s²
constexpr double kPoleMass = 0.1;     // kg
constexpr double kMass = 1.0 + 0.1;   // kg, of cart and pole
constexpr double kHalfLength = 0.5;   // m, of the pole
constexpr double kPoleMoment = kPoleMass * kHalfLength;
constexpr double kForce = 10.0;       // N
constexpr double kStep = 0.02;        // s

// Taylor's series of the sine and the cosine, with the same bits on every platform: the
// last bit of std::sin is the C library's to choose, and 500 steps show it. An angle of
// an episode is small, and the terms left out are below 2⁻⁵³.
double sine(double angle) {
  const double square = angle * angle;
  double sum = 1.0;
  for (int degree = 17; degree > 1; degree -= 2) {
    sum = 1.0 - sum * square / (degree * (degree - 1));
  }
  return angle * sum;
}

double cosine(double angle) {
  const double square = angle * angle;
  double sum = 1.0;
  for (int degree = 18; degree > 0; degree -= 2) {
    sum = 1.0 - sum * square / (degree * (degree - 1));
  }
  return sum;
}

}  // namespace

Motion begin(reglue::Rng& rng) {
  double numbers[4];
  for (double& number : numbers) number = rng.uniform(-0.05, 0.05);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

Motion pushed(const Motion& motion, bool to_the_right) {
  const double force = to_the_right ? kForce : -kForce;
  const double sin = sine(motion.angle), cos = cosine(motion.angle);
  const double spin = motion.angular_velocity * motion.angular_velocity;
  const double thrust = (force + kPoleMoment * spin * sin) / kMass;
  const double inertia = kHalfLength * (4.0 / 3.0 - kPoleMass * (cos * cos) / kMass);
  const double angular_acceleration = (kGravity * sin - cos * thrust) / inertia;
  const double acceleration = thrust - kPoleMoment * angular_acceleration * cos / kMass;
  return {motion.position + kStep * motion.velocity, motion.velocity + kStep * acceleration,
          motion.angle + kStep * motion.angular_velocity,
          motion.angular_velocity + kStep * angular_acceleration};
}

bool has_failed(const Motion& motion) {
  return std::abs(motion.position) > kFarthest || std::abs(motion.angle) > kSteepest;
}

}  // namespace cart_pole
