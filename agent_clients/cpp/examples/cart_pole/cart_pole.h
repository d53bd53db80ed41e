// The cart-pole's physics: a pole stands on a cart, which is pushed left or right.
//
// Barto, Sutton & Anderson 1983, "Neuronlike adaptive elements that can solve difficult
// learning control problems", IEEE Transactions on Systems, Man, and Cybernetics 13,
// pages 834 to 846, without friction, as Gymnasium's CartPole-v1 has it: with its
// numbers, its Euler steps of 0.02 s, its 12 degrees and its 500 steps.
#pragma once

#include "reglue/rng.h"

namespace cart_pole {

inline constexpr double kFarthest = 2.4;                                   // m, either way
inline constexpr double kSteepest = 12 * 2 * 3.14159265358979323846 / 360;  // rad, either way
inline constexpr unsigned kHorizon = 500;                                  // steps

/// Where cart and pole are, and how fast.
struct Motion {
  double position;          // m, of the cart
  double velocity;          // m/s
  double angle;             // rad, 0 is upright
  double angular_velocity;  // rad/s
};

/// Nearly at rest, nearly upright: four numbers of -0.05 to 0.05.
Motion begin(reglue::Rng& rng);

/// 0.02 s later, pushed to the right or to the left by 10 N.
Motion pushed(const Motion& motion, bool to_the_right);

/// Whether the cart has left its track, or the pole is more than 12 degrees from upright.
bool has_failed(const Motion& motion);

}  // namespace cart_pole
