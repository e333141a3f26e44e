"""The physics of QDGym's robots: what Bullet computes for them, to the bit, for four episodes at a time.

A robot is a tree of hinges on a flat floor, made of spheres and capsules. That is all there is, so that is all this does::

    constants    the numbers of Bullet's world
    algebra      vectors, matrices, quaternions: every sum in Bullet's order
    model        a robot and a thread's memory as flat arrays, and the views that compiled code has of them
    contact      the floor: lowest points, and the manifolds that remember them
    self_contact Humanoid's limbs against each other: pairs says which, gjk how far apart they are
    spots        the points of all manifolds, in the solver's order
    planar       the dynamics of Hopper, Walker and Half-Cheetah, which live in a plane
    spatial      the dynamics of Ant and Humanoid, whose base floats
    solver       rows and impulses: joint limits, contacts, friction
    step         the order of all that: one step is four substeps
    reading      what is seen of a robot afterwards
    seeds        NumPy's start angles of a seed, in compiled code
    episodes     whole episodes, from the queue to their results, without Python
    desk         what a thread needs for that
    player       playing jobs; simulator: single steps from Python

Numbers of single episodes and of four side by side are the same source: ``gaits.lanes`` has the type.

The arithmetic follows Bullet (https://github.com/bulletphysics/bullet3, Erwin Coumans and others, zlib licence). None of its
source is here: this was written from a specification of its behaviour, whose sections are what ``ENGINE 5.6`` means beside
a line (docs/engine.md in the repository). docs/physics.md says where the numbers are Bullet's, and where that ends.
"""
