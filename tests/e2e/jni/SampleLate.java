/* SPDX-License-Identifier: MIT */
/* A class that brings its library, in a class loader of its own. */
public class SampleLate {
    public static void load(String path) {
        System.load(path);
    }

    public static native long make(long bytes);
}
