import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.MultiMatchingQueries;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.TermQuery;

/**
 * Lucene Monitor behind lines of text: "subscribe ID WORD ..." and "message ID WORD ...", up to a line "end". The answer
 * to messages is a line for each with the ids of the subscriptions that share a word with it, and "end". The argument says how many messages are matched at once.
 */
public final class MonitorPeer {
  private static final int QUERIES_AT_ONCE = 10_000;

  private final int atOnce;
  private final Monitor monitor;
  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  private final List<MonitorQuery> queries = new ArrayList<>();
  private final List<Document> messages = new ArrayList<>();

  private MonitorPeer(int atOnce) throws IOException {
    this.atOnce = atOnce;
    monitor = new Monitor(new WhitespaceAnalyzer(), new TermFilteredPresearcher());
  }

  public static void main(String[] arguments) throws IOException {
    MonitorPeer peer = new MonitorPeer(Integer.parseInt(arguments[0]));
    // Its threads would keep the process alive.
    try (peer.monitor) {
      peer.serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
    }
  }

  private void serve(BufferedReader in) throws IOException {
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (line.equals("end")) {
        register();
        answer();
      } else {
        take(line.split(" "));
      }
    }
  }

  private void take(String[] words) throws IOException {
    if (words[0].equals("message")) {
      messages.add(document(words));
      return;
    }
    queries.add(new MonitorQuery(words[1], query(words)));
    if (queries.size() == QUERIES_AT_ONCE) {
      register();
    }
  }

  private static Document document(String[] words) {
    Document document = new Document();
    String text = String.join(" ", List.of(words).subList(2, words.length));
    document.add(new TextField("words", text, Field.Store.NO));
    return document;
  }

  private static BooleanQuery query(String[] words) {
    BooleanQuery.Builder any = new BooleanQuery.Builder();
    for (int i = 2; i < words.length; i++) {
      any.add(new TermQuery(new Term("words", words[i])), BooleanClause.Occur.SHOULD);
    }
    return any.build();
  }

  private void register() throws IOException {
    if (!queries.isEmpty()) {
      monitor.register(queries);
      queries.clear();
    }
  }

  private void answer() throws IOException {
    for (int i = 0; i < messages.size(); i += atOnce) {
      List<Document> some = messages.subList(i, Math.min(i + atOnce, messages.size()));
      match(some.toArray(new Document[0]));
    }
    messages.clear();
    out.println("end");
    out.flush();
  }

  private void match(Document[] batch) throws IOException {
    MultiMatchingQueries<QueryMatch> found = monitor.match(batch, QueryMatch.SIMPLE_MATCHER);
    for (int i = 0; i < batch.length; i++) {
      out.println(line(found.getMatches(i)));
    }
  }

  private static String line(Collection<QueryMatch> matches) {
    StringBuilder line = new StringBuilder();
    for (QueryMatch match : matches) {
      line.append(match.getQueryId()).append(' ');
    }
    return line.toString();
  }
}
