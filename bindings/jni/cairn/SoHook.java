/* SPDX-License-Identifier: MIT */
package cairn;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Tracks the heap blocks that chosen native libraries ask for, and reports those that were not
 * freed, with the stack that asked for each. The same as memory_tracker.h of libcairn-track.
 *
 * <p>Methods may be called by any thread at any time. Those that return an int return 0, or a
 * negative code that {@link #strerror} explains. All but {@link #init} and {@link #strerror} throw
 * IllegalStateException before init() has returned 0.
 */
public final class SoHook {
    static {
        System.loadLibrary("cairn-jni");
    }

    private static volatile boolean ready;

    private SoHook() {
    }

    /** What the hooked libraries have asked for since init() or resetStats(), in blocks and bytes. */
    public static final class MemoryStats {
        public final long totalAllocCount;
        public final long totalAllocSize;
        public final long totalFreeCount;
        public final long totalFreeSize;
        /** Blocks that live, whenever they were made. */
        public final long currentAllocCount;
        public final long currentAllocSize;
        /** The highest currentAllocSize, right to 1/128. */
        public final long peakSize;

        MemoryStats(long[] counts) {
            totalAllocCount = counts[0];
            totalAllocSize = counts[1];
            totalFreeCount = counts[2];
            totalFreeSize = counts[3];
            currentAllocCount = counts[4];
            currentAllocSize = counts[5];
            peakSize = counts[6];
        }

        @Override
        public String toString() {
            return "allocated " + totalAllocCount + " (" + totalAllocSize + " bytes), freed "
                + totalFreeCount + " (" + totalFreeSize + " bytes), live " + currentAllocCount + " ("
                + currentAllocSize + " bytes), peak " + peakSize + " bytes";
        }
    }

    /**
     * Makes the tracker ready. Nothing is tracked before hook(). Calling it again sets both
     * switches anew.
     *
     * @param debug say on stderr what is done
     * @param enableBacktrace whether blocks get their stacks from now on
     */
    public static int init(boolean debug, boolean enableBacktrace) {
        int code = nativeInit(debug, enableBacktrace);
        if (code == 0)
            ready = true;
        return code;
    }

    /**
     * Tracks what these libraries ask for, those that are loaded now and those that come later, in
     * addition to those that are hooked already.
     *
     * @param libraries file names ("libsample.so"), paths, or globs with * and ?
     * @throws NullPointerException if the list or one of its names is null
     * @throws IllegalArgumentException if the list is empty, or a name is, or has a NUL
     */
    public static int hook(List<String> libraries) {
        byte[][] names = toNames(libraries);
        checkReady();
        return nativeHook(names);
    }

    /**
     * Tracks what these ask for no longer. Blocks that live stay known until they are freed. Names
     * that were not given to hook() are ignored.
     */
    public static int unhook(List<String> libraries) {
        byte[][] names = toNames(libraries);
        checkReady();
        return nativeUnhook(names);
    }

    public static int unhookAll() {
        checkReady();
        return nativeUnhook(null);
    }

    /** Whether blocks get their stacks from now on. */
    public static void setBacktraceEnabled(boolean enabled) {
        checkReady();
        nativeSetBacktraceEnabled(enabled);
    }

    public static boolean isBacktraceEnabled() {
        checkReady();
        return nativeIsBacktraceEnabled();
    }

    public static MemoryStats getMemoryStats() {
        checkReady();
        long[] counts = new long[7];
        int code = nativeGetStats(counts);
        if (code != 0)
            throw new IllegalStateException(strerror(code));
        return new MemoryStats(counts);
    }

    /**
     * The live blocks as text, as `cairn heap leaks --format tracker` prints them. Bytes of names
     * that are no UTF-8 become U+FFFD.
     *
     * @throws OutOfMemoryError if there is no memory for it, or it has more than 2 GiB
     */
    public static String getLeakReport() {
        checkReady();
        return new String(nativeReport(false), StandardCharsets.UTF_8);
    }

    /** The same as one JSON object. */
    public static String getLeaksJson() {
        checkReady();
        return new String(nativeReport(true), StandardCharsets.UTF_8);
    }

    /**
     * Writes the text into a file, which is replaced whole or not at all.
     *
     * @throws IllegalArgumentException if the path is empty, or has a NUL
     */
    public static int dumpLeakReport(String path) {
        byte[] name = toName(path, "path");
        checkReady();
        return nativeDump(name);
    }

    /** Totals count from 0 again, and the peak from what lives now. */
    public static void resetStats() {
        checkReady();
        nativeResetStats();
    }

    /** What a code means, in a sentence. */
    public static String strerror(int code) {
        return new String(nativeStrerror(code), StandardCharsets.UTF_8);
    }

    private static void checkReady() {
        if (!ready)
            throw new IllegalStateException("SoHook.init() has not been called, or has failed");
    }

    /* With a zero behind it. */
    private static byte[] toName(String text, String what) {
        if (text == null)
            throw new NullPointerException(what + " is null");
        if (text.isEmpty())
            throw new IllegalArgumentException(what + " is empty");
        if (text.indexOf('\0') >= 0)
            throw new IllegalArgumentException(what + " has a NUL");
        return (text + '\0').getBytes(StandardCharsets.UTF_8);
    }

    private static byte[][] toNames(List<String> libraries) {
        if (libraries == null)
            throw new NullPointerException("libraries is null");
        String[] texts = libraries.toArray(new String[0]);
        if (texts.length == 0)
            throw new IllegalArgumentException("libraries is empty");
        byte[][] names = new byte[texts.length][];
        for (int i = 0; i < texts.length; i++)
            names[i] = toName(texts[i], "a library's name");
        return names;
    }

    private static native int nativeInit(boolean debug, boolean enableBacktrace);

    private static native int nativeHook(byte[][] names);

    private static native int nativeUnhook(byte[][] names);

    private static native void nativeSetBacktraceEnabled(boolean enabled);

    private static native boolean nativeIsBacktraceEnabled();

    private static native int nativeGetStats(long[] counts);

    private static native byte[] nativeReport(boolean json);

    private static native int nativeDump(byte[] path);

    private static native void nativeResetStats();

    private static native byte[] nativeStrerror(int code);
}
