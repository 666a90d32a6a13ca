// SPDX-License-Identifier: MIT
// libray: draws spheres that mirror each other.
#ifndef DEMO_RAY_H
#define DEMO_RAY_H

#include <vector>

#include "vec.h"

namespace demo
{

struct Ray {
    Vec3 origin, direction;
};

struct Sphere {
    Vec3 centre;
    double radius, mirror;
};

class Scene
{
  public:
    explicit Scene(unsigned n_spheres);
    double trace(const Ray &ray, int bounces) const; // brightness, 0 to 1
    std::vector<double> render_row(int y, int size) const;

  private:
    const Sphere *nearest(const Ray &ray, double &distance) const;
    double shade(const Ray &ray, const Sphere &sphere, double distance, int bounces) const;
    std::vector<Sphere> spheres;
};

} // namespace demo

#endif
