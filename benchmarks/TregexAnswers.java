/* Prints the answers of Stanford Tregex: java -cp JAR TregexAnswers.java TREES PATTERNS SECONDS

   One line a pattern: the matches, the distinct nodes, the trees with a match, and the milliseconds, separated by tabs;
   ERROR if Tregex refuses the pattern, SLOW after so many seconds. The first line has the milliseconds of reading. */

import edu.stanford.nlp.trees.CollinsHeadFinder;
import edu.stanford.nlp.trees.LabeledScoredTreeFactory;
import edu.stanford.nlp.trees.PennTreeReader;
import edu.stanford.nlp.trees.Tree;
import edu.stanford.nlp.trees.tregex.TregexMatcher;
import edu.stanford.nlp.trees.tregex.TregexPattern;
import edu.stanford.nlp.trees.tregex.TregexPatternCompiler;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

public class TregexAnswers {
    static final TregexPatternCompiler COMPILER = new TregexPatternCompiler(new CollinsHeadFinder());

    public static void main(String[] arguments) throws Exception {
        PrintStream output = new PrintStream(System.out, true, "UTF-8");
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        long start = System.nanoTime();
        List<Tree> trees = new ArrayList<>();
        var reader = new PennTreeReader(Files.newBufferedReader(Path.of(arguments[0])), new LabeledScoredTreeFactory());
        for (Tree tree = reader.readTree(); tree != null; tree = reader.readTree()) trees.add(tree);
        output.println(milliseconds(start));
        for (String pattern : Files.readAllLines(Path.of(arguments[1]))) {
            String[] answer = {"SLOW"};
            Thread search = new Thread(() -> answer[0] = answer(pattern, trees));
            search.start();
            search.join(1000 * Long.parseLong(arguments[2]));
            if (search.isAlive()) search.stop();
            search.join();
            output.println(answer[0]);
        }
    }

    static String answer(String text, List<Tree> trees) {
        long start = System.nanoTime(), matches = 0, nodes = 0, treesWithMatch = 0;
        try {
            TregexPattern pattern = COMPILER.compile(text);
            for (Tree tree : trees) {
                Set<Tree> treeNodes = Collections.newSetFromMap(new IdentityHashMap<>());
                TregexMatcher matcher = pattern.matcher(tree);
                for (; matcher.find(); matches++) treeNodes.add(matcher.getMatch());
                nodes += treeNodes.size();
                if (!treeNodes.isEmpty()) treesWithMatch++;
            }
        } catch (ThreadDeath death) {
            return "SLOW";
        } catch (Throwable error) {
            return "ERROR";
        }
        return matches + "\t" + nodes + "\t" + treesWithMatch + "\t" + milliseconds(start);
    }

    static double milliseconds(long start) {
        return (System.nanoTime() - start) / 1e6;
    }
}
