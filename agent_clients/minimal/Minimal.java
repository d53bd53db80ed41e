import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import reglue.v1.*;

/** An agent over plain gRPC stubs. It takes the first of the legal actions. */
public class Minimal {
  /**
   * The policy: rows for steps, then for starts, of each of the spec's actions.
   * `turn.getObservations(i)` holds rows of ends, then of steps, then of starts.
   */
  static Actions act(TaskSpec spec, Turn turn) {
    Actions.Builder actions = Actions.newBuilder();
    for (TensorSpec tensor : spec.getActionsList()) {
      int rows = turn.getStepSlotsCount() + turn.getStartSlotsCount();
      ByteBuffer bytes = ByteBuffer.allocate((int) rowBytes(tensor) * rows).order(ByteOrder.LITTLE_ENDIAN);
      byte[] first = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN)
          .putLong(tensor.getDiscrete().getStart()).array(); // zero is in every other domain
      while (bytes.hasRemaining()) bytes.put(first, 0, elementBytes(tensor));
      actions.addActions(ByteString.copyFrom(bytes.flip()));
    }
    return actions.build();
  }

  public static void main(String[] arguments) throws Exception {
    Place place = Place.of(System.getenv("REGLUE_ADDRESS"));
    Ticket ticket = join(place);
    String address = ticket.getAddress().isEmpty() ? place.address() : ticket.getAddress();
    ManagedChannel channel = place.dial(address).maxInboundMessageSize(ticket.getMaxMessageBytes()).build();
    try {
      play(channel, ticket);
    } finally {
      channel.shutdown().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  static void play(ManagedChannel channel, Ticket ticket) throws Exception {
    LinkedBlockingQueue<Object> received = new LinkedBlockingQueue<>(); // calls, then how the stream ended
    Metadata session = new Metadata();
    session.put(Metadata.Key.of("reglue-session", Metadata.ASCII_STRING_MARSHALLER), ticket.getSession());
    StreamObserver<AgentReply> replies = AgentServiceGrpc.newStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(session))
        .session(new StreamObserver<>() {
          public void onNext(AgentCall call) { received.add(call); }
          public void onError(Throwable error) { received.add(error); }
          public void onCompleted() { received.add(Status.OK); }
        });
    Mac proof = Mac.getInstance("HmacSHA256");
    proof.init(new SecretKeySpec(ticket.getSecret().toByteArray(), "HmacSHA256"));
    String text = "reglue.v1 hello " + ticket.getSession() + " 0"; // 0: no call has been answered
    replies.onNext(AgentReply.newBuilder().setHello(AgentHello.newBuilder()
        .setMajor(1).setSdk("minimal Java").setAgent("First")
        .setPartialTurns(true).setAdapts(true).setEpisodic(true).setSession(ticket.getSession())
        .setProof(ByteString.copyFrom(proof.doFinal(text.getBytes(UTF_8))))).build());
    TaskSpec spec = TaskSpec.getDefaultInstance();
    for (Object next = received.take(); next != Status.OK; next = received.take()) {
      if (next instanceof Throwable error) throw new IllegalStateException(error);
      AgentCall call = (AgentCall) next;
      AgentReply.Builder reply = AgentReply.newBuilder().setSeq(call.getSeq());
      try {
        switch (call.getCallCase()) {
          case INIT -> spec = readable(call.getInit().getSpec());
          case TURN -> reply.setActions(act(spec, fitting(call.getTurn(), spec)));
          case MESSAGE -> reply.setMessage(TextMessage.getDefaultInstance());
          case FREEZE, ADAPT_BEGIN, ADAPT, CLEANUP -> {}
          case FAREWELL -> replies.onCompleted();
          case REFUSAL -> {}
          default -> throw new IllegalArgumentException("a call of a later version");
        }
      } catch (RuntimeException error) {
        replies.onNext(reply.setFault(Fault.newBuilder().setWhat(error.toString())).build());
        received.take(); // the farewell
        throw error;
      }
      if (call.hasFarewell() || call.hasRefusal()) continue; // neither is answered
      if (!reply.hasActions() && !reply.hasMessage()) reply.setDone(RoutineDone.getDefaultInstance());
      replies.onNext(reply.build());
    }
  }

  static Ticket join(Place place) throws Exception {
    JoinRequest request = JoinRequest.newBuilder().setMajor(1).setRole(Role.ROLE_AGENT)
        .setToken(place.token()).setName("minimal").build();
    for (int tries = 0;; ++tries) {
      ManagedChannel channel = place.dial(place.address()).build();
      try {
        return LobbyServiceGrpc.newBlockingStub(channel)
            .withDeadlineAfter(10, TimeUnit.SECONDS).join(request);
      } catch (StatusRuntimeException error) { // any other status is final, and says why
        Status.Code code = error.getStatus().getCode();
        boolean busy = code == Status.Code.UNAVAILABLE || code == Status.Code.RESOURCE_EXHAUSTED;
        if (!busy || tries == 300) throw error;
      } finally {
        channel.shutdownNow();
      }
      Thread.sleep(200);
    }
  }

  /** What a join string says: the glue's address, a token, and the authority and name for TLS. */
  record Place(String address, String token, ChannelCredentials security, String name) {
    /** Reads host:port, or a join string; the authority that it names is trusted alone. */
    static Place of(String text) throws Exception {
      String token = System.getenv().getOrDefault("REGLUE_TOKEN", "");
      if (!text.contains("://")) return new Place(text, token, InsecureChannelCredentials.create(), "");
      Map<String, String> entries = new HashMap<>();
      String[] parts = text.substring(text.indexOf("://") + 3).split("\\?", 2);
      for (String entry : parts.length < 2 ? new String[0] : parts[1].split("&", -1)) {
        String[] pair = entry.split("=", 2);
        if (!List.of("ca", "name", "token").contains(pair[0]) || pair.length < 2
            || pair[0].equals("ca") && pair[1].isEmpty() || entries.put(pair[0], URLDecoder.decode(pair[1], UTF_8)) != null)
          throw new IllegalArgumentException("a join string that was cut, or of a later version");
      }
      ChannelCredentials security = entries.containsKey("ca")
          ? TlsChannelCredentials.newBuilder().trustManager(trusting(entries.get("ca"))).build()
          : InsecureChannelCredentials.create();
      return new Place(parts[0].replaceFirst("/$", ""), entries.getOrDefault("token", token), security,
          entries.getOrDefault("name", ""));
    }

    ManagedChannelBuilder<?> dial(String address) {
      ManagedChannelBuilder<?> channel = Grpc.newChannelBuilder(address, security);
      return name.isEmpty() ? channel : channel.overrideAuthority(name);
    }

    private static TrustManager[] trusting(String authority) throws Exception {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null);
      byte[] der = Base64.getUrlDecoder().decode(authority);
      CertificateFactory certificates = CertificateFactory.getInstance("X.509");
      for (Certificate each : certificates.generateCertificates(new ByteArrayInputStream(der)))
        trusted.setCertificateEntry("authority " + trusted.size(), each);
      TrustManagerFactory managers = TrustManagerFactory.getInstance("PKIX");
      managers.init(trusted);
      return managers.getTrustManagers();
    }
  }

  static int elementBytes(TensorSpec tensor) {
    return switch (tensor.getDtype()) {
      case DTYPE_BOOL, DTYPE_UINT8, DTYPE_INT8 -> 1;
      case DTYPE_UINT16, DTYPE_INT16 -> 2;
      case DTYPE_UINT32, DTYPE_INT32, DTYPE_FLOAT32 -> 4;
      case DTYPE_UINT64, DTYPE_INT64, DTYPE_FLOAT64 -> 8;
      default -> throw new IllegalArgumentException("a dtype of a later version");
    };
  }

  /** The size of a tensor's row; a double, as a product of any shape fits into it. */
  static double rowBytes(TensorSpec tensor) {
    return tensor.getShapeList().stream().mapToDouble(Integer::toUnsignedLong)
        .reduce(elementBytes(tensor), (size, axis) -> size * axis);
  }

  static TaskSpec readable(TaskSpec spec) {
    Stream.concat(spec.getObservationsList().stream(), spec.getActionsList().stream()).forEach(tensor -> {
      if (rowBytes(tensor) > 1L << 31) throw new IllegalArgumentException("no message can hold " + tensor);
    });
    return spec;
  }

  static Turn fitting(Turn turn, TaskSpec spec) {
    int judged = turn.getEndSlotsCount() + turn.getStepSlotsCount();
    int rows = judged + turn.getStartSlotsCount();
    boolean withheld = turn.getPhase() == Phase.PHASE_EVALUATE && !spec.getRewardsInEvaluation();
    boolean fits = (withheld || turn.getRewards().size() == 8 * judged)
        && turn.getPhase() != Phase.UNRECOGNIZED && !turn.getEndKindsList().contains(EndKind.UNRECOGNIZED)
        && spec.getSlots() > 0 && turn.getObservationsCount() == spec.getObservationsCount();
    for (int i = 0; fits && i < turn.getObservationsCount(); ++i)
      fits = turn.getObservations(i).size() == rows * rowBytes(spec.getObservations(i));
    for (List<Integer> slots :
        List.of(turn.getEndSlotsList(), turn.getStepSlotsList(), turn.getStartSlotsList()))
      fits = fits && slots.stream().allMatch(each -> Integer.compareUnsigned(each, spec.getSlots()) < 0);
    if (!fits) throw new IllegalArgumentException("a turn before init, or one that does not fit the TaskSpec");
    return turn;
  }
}
