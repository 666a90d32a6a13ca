// SPDX-License-Identifier: MIT
#include "ray.h"

#include <algorithm>
#include <limits>
#include <random>

namespace demo
{

Scene::Scene(unsigned n_spheres)
{
    std::minstd_rand random(42);
    std::uniform_real_distribution<double> place(-4, 4), size(0.2, 0.9), mirror(0.1, 0.8);
    for (unsigned i = 0; i < n_spheres; i++)
        spheres.push_back(
            {{{place(random), place(random), place(random) + 9}}, size(random), mirror(random)});
}

// Distance along the ray to where it meets the sphere; negative: it does not.
static inline double meet(const Ray &ray, const Sphere &sphere)
{
    const Vec3 to = sphere.centre - ray.origin;
    const double along = dot(to, ray.direction);
    const double square = sphere.radius * sphere.radius - dot(to, to) + along * along;
    return square < 0 ? -1 : along - std::sqrt(square);
}

const Sphere *Scene::nearest(const Ray &ray, double &distance) const
{
    const Sphere *found = nullptr;
    distance = std::numeric_limits<double>::infinity();
    for (const Sphere &sphere : spheres) {
        const double d = meet(ray, sphere);
        if (d > 1e-6 && d < distance) {
            distance = d;
            found = &sphere;
        }
    }
    return found;
}

double Scene::shade(const Ray &ray, const Sphere &sphere, double distance, int bounces) const
{
    static const Vec3 light = unit(Vec3{{-1, 2, -2}});
    const Vec3 point = ray.origin + ray.direction * distance;
    const Vec3 normal = unit(point - sphere.centre);
    double ignored;
    const bool dark = nearest({point, light}, ignored) != nullptr;
    const double own = dark ? 0.1 : std::max(0.1, dot(normal, light));
    const Vec3 away = ray.direction - normal * (2 * dot(ray.direction, normal));
    const double mirrored = bounces > 0 ? trace({point, away}, bounces - 1) : 0;
    return own * (1 - sphere.mirror) + mirrored * sphere.mirror;
}

double Scene::trace(const Ray &ray, int bounces) const
{
    double distance;
    const Sphere *sphere = nearest(ray, distance);
    const double result =
        sphere ? shade(ray, *sphere, distance, bounces) : 0.5 + 0.5 * ray.direction.at[1];
    return std::clamp(result, 0.0, 1.0);
}

std::vector<double> Scene::render_row(int y, int size) const
{
    std::vector<double> row;
    for (int x = 0; x < size; x++) {
        const Vec3 to{{x / (size / 2.0) - 1, 1 - y / (size / 2.0), 2}};
        row.push_back(trace({Vec3{}, unit(to)}, 3));
    }
    return row;
}

} // namespace demo
