/* SPDX-License-Identifier: MIT */
/* cairn.SoHook on this JDK: SoHookTest CASE FOLDER, which has the sample libraries and classes. */
import cairn.SoHook;
import java.io.File;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

public class SoHookTest {
    static String folder;

    static void check(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    static void same(long got, long expected, String what) {
        check(got == expected, what + ": " + got + ", expected " + expected);
    }

    static void start() {
        same(SoHook.init(false, true), 0, "init");
    }

    static String library(String name) {
        return folder + "/lib" + name + ".so";
    }

    interface Call {
        void run() throws Exception;
    }

    static void fails(Class<? extends Exception> kind, Call call) {
        try {
            call.run();
        } catch (Exception e) {
            check(kind.isInstance(e), "expected " + kind + ", got " + e);
            return;
        }
        throw new AssertionError("expected " + kind + ", and nothing was thrown");
    }

    /* Blocks of one library, counted and reported. */
    static void blocks(String name, boolean before) throws Exception {
        start();
        if (before)
            System.load(library(name));
        same(SoHook.hook(Collections.singletonList("lib" + name + ".so")), 0, "hook");
        if (!before)
            System.load(library(name));
        boolean lazy = name.equals("sample_lazy");
        SoHook.resetStats();
        long a = lazy ? SampleLazy.make(1001) : SampleNow.make(1001);
        long b = lazy ? SampleLazy.make(1002) : SampleNow.make(1002);
        long c = lazy ? SampleLazy.copy("hello") : SampleNow.copy("hello");
        SoHook.MemoryStats stats = SoHook.getMemoryStats();
        same(stats.totalAllocCount, 3, "allocations");
        same(stats.totalAllocSize, 1001 + 1002 + 6, "bytes");
        same(stats.currentAllocCount, 3, "live blocks");
        String text = SoHook.getLeakReport(), json = SoHook.getLeaksJson();
        check(text.contains("size=1001, so=lib" + name + ".so"), text);
        check(text.contains("make_block") || text.contains("_make"), text);
        check(json.contains("\"so\": \"lib" + name + ".so\""), json);
        if (lazy)
            SampleLazy.drop(a);
        else
            SampleNow.drop(a);
        if (lazy)
            SampleLazy.dropByPointer(b);
        else
            SampleNow.dropByPointer(b);
        same(SoHook.getMemoryStats().currentAllocCount, 1, "live blocks after two frees");
        same(SoHook.unhookAll(), 0, "unhookAll");
        long d = lazy ? SampleLazy.make(77) : SampleNow.make(77);
        same(SoHook.getMemoryStats().totalAllocCount, 3, "allocations after unhookAll");
        if (lazy)
            SampleLazy.drop(c);
        else
            SampleNow.drop(c);
        same(SoHook.getMemoryStats().currentAllocCount, 0, "a block lives on until it is freed");
        if (lazy)
            SampleLazy.drop(d);
        else
            SampleNow.drop(d);
    }

    static void exceptions() throws Exception {
        List<String> one = Collections.singletonList("libsample_lazy.so");
        fails(IllegalStateException.class, () -> SoHook.hook(one));
        fails(IllegalStateException.class, () -> SoHook.unhookAll());
        fails(IllegalStateException.class, () -> SoHook.getLeakReport());
        fails(IllegalStateException.class, () -> SoHook.getMemoryStats());
        start();
        start();
        fails(NullPointerException.class, () -> SoHook.hook(null));
        fails(NullPointerException.class, () -> SoHook.hook(Arrays.asList("a", null)));
        fails(NullPointerException.class, () -> SoHook.unhook(null));
        fails(NullPointerException.class, () -> SoHook.dumpLeakReport(null));
        fails(IllegalArgumentException.class, () -> SoHook.hook(new ArrayList<String>()));
        fails(IllegalArgumentException.class, () -> SoHook.hook(Arrays.asList("a", "")));
        fails(IllegalArgumentException.class, () -> SoHook.hook(Arrays.asList("a\0b")));
        fails(IllegalArgumentException.class, () -> SoHook.dumpLeakReport(""));
        same(SoHook.hook(Arrays.asList("lib\u00fc\ud83d\ude00*.so")), 0, "a name of other letters");
        same(SoHook.unhook(Arrays.asList("libnever.so")), 0, "unhook of what is not hooked");
        check(SoHook.isBacktraceEnabled(), "backtraces are on");
        SoHook.setBacktraceEnabled(false);
        check(!SoHook.isBacktraceEnabled(), "backtraces are off");
        check(SoHook.hook(Arrays.asList(new String(new char[5000]).replace('\0', 'x'))) < 0,
            "a name that no path can have");
        check(SoHook.dumpLeakReport("/nowhere/at/all") < 0, "a folder that is not there");
        check(SoHook.strerror(-7).length() > 0 && SoHook.strerror(0).equals("no error"), "strerror");
        String path = folder + "/report.txt";
        same(SoHook.dumpLeakReport(path), 0, "dumpLeakReport");
        check(new String(Files.readAllBytes(new File(path).toPath()), StandardCharsets.UTF_8)
            .startsWith("=== Memory Leak Report ==="), "the report's first line");
    }

    /* A file name whose bytes are no UTF-8 is found by a glob, and reported as a valid string. */
    static void oddBytes() throws Exception {
        start();
        System.load(library("sample_lazy"));
        same(SoHook.hook(Arrays.asList("*/a*/libodd*.so")), 0, "hook");
        byte[] path = Files.readAllBytes(new File(folder, "odd_path").toPath());
        long a = SampleLazy.makeIn(path, 4321);
        check(a != 0, "the library is not loaded");
        String text = SoHook.getLeakReport(), json = SoHook.getLeaksJson();
        check(text.contains("size=4321"), text);
        for (String each : new String[] {text, json})
            check(new String(each.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8)
                .equals(each), "a string that is no Unicode");
        SampleLazy.drop(a);
    }

    static void threads() throws Exception {
        start();
        System.load(library("sample_lazy"));
        System.load(library("sample_now"));
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failed = new AtomicReference<>();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            boolean lazy = i % 2 == 0;
            all.add(new Thread(() -> {
                while (!stop.get()) {
                    if (lazy)
                        SampleLazy.churn(2000);
                    else
                        SampleNow.churn(2000);
                    byte[][] garbage = new byte[50][];
                    for (int k = 0; k < garbage.length; k++)
                        garbage[k] = new byte[10000];
                }
            }));
        }
        List<String> both = Arrays.asList("libsample_lazy.so", "libsample_now.so");
        for (int i = 0; i < 3; i++) {
            int which = i;
            all.add(new Thread(() -> {
                try {
                    for (int n = 0; n < 60; n++) {
                        if (which == 0)
                            same(SoHook.hook(both), 0, "hook");
                        else if (which == 1)
                            same(SoHook.unhook(both.subList(n % 2, n % 2 + 1)), 0, "unhook");
                        else if (n % 2 == 0)
                            check(SoHook.getLeaksJson().startsWith("{"), "json");
                        else
                            check(SoHook.getMemoryStats().totalAllocCount >= 0, "stats");
                    }
                } catch (Throwable e) {
                    failed.set(e);
                }
            }));
        }
        for (Thread thread : all)
            thread.start();
        for (Thread thread : all.subList(16, all.size()))
            thread.join();
        same(SoHook.hook(both), 0, "hook");
        stop.set(true);
        for (Thread thread : all)
            thread.join();
        if (failed.get() != null)
            throw new AssertionError(failed.get());
        same(SoHook.getMemoryStats().currentAllocCount, 0, "live blocks when all is done");
        long a = SampleNow.make(99);
        same(SoHook.getMemoryStats().currentAllocCount, 1, "hooked still");
        SampleNow.drop(a);
    }

    /* A class loader that goes takes its library along; the next one is hooked as well. */
    static void unload() throws Exception {
        start();
        same(SoHook.hook(Arrays.asList("libsample_late.so")), 0, "hook");
        long allocations = 0;
        for (int i = 0; i < 3; i++) {
            WeakReference<ClassLoader> gone = useLate();
            same(SoHook.getMemoryStats().totalAllocCount, ++allocations, "allocations");
            long end = System.nanoTime() + 20_000_000_000L;
            while (gone.get() != null && System.nanoTime() < end)
                System.gc();
            check(gone.get() == null, "the class loader goes");
            String text = SoHook.getLeakReport();
            check(text.contains("size=500, so=libsample_late.so"), text);
        }
    }

    /* A thread of the JVM takes the last loader's library away some time after the loader went. Until
     * then the JVM refuses it to another loader. */
    static void loadOnceGone(Class<?> late) throws Exception {
        long end = System.nanoTime() + 20_000_000_000L;
        for (;;) {
            try {
                late.getMethod("load", String.class).invoke(null, library("sample_late"));
                return;
            } catch (InvocationTargetException e) {
                boolean held = String.valueOf(e.getCause().getMessage()).contains("already loaded");
                if (!held || System.nanoTime() > end)
                    throw e;
                Thread.sleep(10);
            }
        }
    }

    static WeakReference<ClassLoader> useLate() throws Exception {
        URLClassLoader loader =
            new URLClassLoader(new URL[] {new File(folder, "late/").toURI().toURL()}, null);
        Class<?> late = loader.loadClass("SampleLate");
        loadOnceGone(late);
        late.getMethod("make", long.class).invoke(null, 500L);
        loader.close();
        return new WeakReference<>(loader);
    }

    public static void main(String[] words) throws Exception {
        folder = words[1];
        switch (words[0]) {
        case "lazy-before": blocks("sample_lazy", true); break;
        case "lazy-after": blocks("sample_lazy", false); break;
        case "now-before": blocks("sample_now", true); break;
        case "now-after": blocks("sample_now", false); break;
        case "exceptions": exceptions(); break;
        case "odd-bytes": oddBytes(); break;
        case "threads": threads(); break;
        case "unload": unload(); break;
        default: throw new IllegalArgumentException(words[0]);
        }
        System.out.println("ok " + words[0]);
    }
}

class SampleLazy {
    static native long make(long bytes);
    static native void drop(long block);
    static native void dropByPointer(long block);
    static native long copy(String text);
    static native void churn(int n);
    static native long makeIn(byte[] path, long bytes);
}

class SampleNow {
    static native long make(long bytes);
    static native void drop(long block);
    static native void dropByPointer(long block);
    static native long copy(String text);
    static native void churn(int n);
}
