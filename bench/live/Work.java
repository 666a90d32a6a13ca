// SPDX-License-Identifier: MIT
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Regular expressions, dictionaries and recursion, for ever. */
public class Work {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static Map<String, Integer> words(String text) {
        Map<String, Integer> seen = new HashMap<>();
        Matcher matcher = Pattern.compile("[a-z0-9]+").matcher(text);
        while (matcher.find()) {
            seen.merge(matcher.group(), 1, Integer::sum);
        }
        return seen;
    }

    public static void main(String[] args) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 5000; i++) {
            text.append("user").append(i).append(" tag").append(i % 97).append(' ');
        }
        long total = 0;
        while (true) {
            total += words(text.toString()).size() + fib(25);
        }
    }
}
