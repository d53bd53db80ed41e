/** A glue's side of a session: it sends what a test tells it to. */
import { createServer, type Socket } from "node:net";

import {
  create,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  status,
} from "@grpc/grpc-js";

import {
  AgentCallSchema,
  type AgentReply,
  AgentReplySchema,
} from "../src/gen/reglue/v1/agent_pb.js";
import {
  JoinRequestSchema,
  UnixSocketWelcomeSchema,
  type Ticket,
  TicketSchema,
} from "../src/gen/reglue/v1/lobby_pb.js";
import { unixSocketProof } from "../src/net/lobby.js";

/** A call without its number. */
export type CallBody = MessageInitShape<typeof AgentCallSchema>["call"] & {};

/** A stream that an agent opened. */
export interface Connection {
  readonly transport: "grpc" | "unix";
  readonly hello: AgentReply;
  /** The next reply. */
  receive(): Promise<AgentReply>;
  send(seq: bigint, call: CallBody): void;
  /** Break it. */
  cut(): void;
}

const SECRET = new Uint8Array(32).fill(7);

/** A glue on loopback; every stream that agents open is returned by `connection`. */
export class Glue {
  readonly #server = new Server({ "grpc.max_receive_message_length": -1 });
  readonly #connections = queue<Connection>();
  readonly #sockets = new Set<Socket>();
  readonly #unixServer = createServer((socket) => this.#welcome(socket));
  /** How many of the next streams end before they are admitted. */
  turnsAway = 0;
  /** How many of the next peers get a ticket; the others get no answer. */
  tickets = Infinity;
  address = "";

  constructor(
    private readonly ticket: MessageInitShape<typeof TicketSchema>,
    /** Whether its Unix socket shows that it knows the secret. */
    private readonly isHonest = true,
  ) {
    this.#server.addService(
      {
        join: method("/reglue.v1.LobbyService/Join", JoinRequestSchema, TicketSchema, false),
        connect: method("/reglue.v1.AgentService/Session", AgentReplySchema, AgentCallSchema, true),
      },
      {
        join: (_: unknown, answer: (error: null, ticket: Ticket) => void) => {
          if (this.tickets-- <= 0) return;
          answer(null, create(TicketSchema, { session: "s", secret: SECRET, ...this.ticket }));
        },
        connect: (stream: ServerDuplexStream<AgentReply, object>) => this.#connected(stream),
      },
    );
  }

  /** Listen; also at a Unix socket, if there is a path. */
  async open(unixSocketPath?: string): Promise<this> {
    const port = await new Promise<number>((resolve, reject) =>
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    this.address = `127.0.0.1:${port}`;
    if (unixSocketPath)
      await new Promise<void>((resolve) => this.#unixServer.listen(unixSocketPath, resolve));
    return this;
  }

  close(): void {
    this.#server.forceShutdown();
    this.#unixServer.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The next stream that an agent opens. */
  connection(): Promise<Connection> {
    return this.#connections.take();
  }

  #connected(stream: ServerDuplexStream<AgentReply, object>): void {
    const replies = queue<AgentReply>();
    stream.on("error", () => {}); // the agent has left
    if (this.turnsAway > 0) {
      this.turnsAway--;
      stream.emit("error", { code: status.UNAVAILABLE, details: "not now" });
      return;
    }
    stream.sendMetadata(new Metadata());
    stream.on("end", () => stream.end());
    stream.on("data", (reply: AgentReply) => replies.put(reply));
    void replies.take().then((hello) =>
      this.#connections.put({
        transport: "grpc",
        hello,
        receive: replies.take,
        send: (seq, call) => stream.write(create(AgentCallSchema, { seq, call })),
        cut: () => stream.end(),
      }),
    );
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    const replies = queue<AgentReply>();
    socket.on("error", () => {}); // the agent has left
    socket.on("data", (chunk) => {
      for (let at = 0; at < chunk.length; at += 4 + chunk.readUInt32LE(at)) {
        const end = at + 4 + chunk.readUInt32LE(at); // these tests' frames come whole
        replies.put(fromBinary(AgentReplySchema, chunk.subarray(at + 4, end)));
      }
    });
    void replies.take().then((hello) => {
      const { value } = hello.reply as { value: { answered: bigint } };
      const secret = this.isHonest ? SECRET : new Uint8Array(32);
      const welcome = { proof: unixSocketProof(secret, "s", value.answered) };
      frame(socket, toBinary(UnixSocketWelcomeSchema, create(UnixSocketWelcomeSchema, welcome)));
      this.#connections.put({
        transport: "unix",
        hello,
        receive: replies.take,
        send: (seq, call) =>
          frame(socket, toBinary(AgentCallSchema, create(AgentCallSchema, { seq, call }))),
        cut: () => socket.destroy(),
      });
    });
  }
}

function frame(socket: Socket, message: Uint8Array): void {
  const header = Buffer.alloc(4);
  header.writeUInt32LE(message.length);
  socket.write(Buffer.concat([header, message]));
}

/** Things in the order in which they were put in. */
function queue<T>(): { put: (thing: T) => void; take: () => Promise<T> } {
  const things: T[] = [];
  const takers: ((thing: T) => void)[] = [];
  return {
    put: (thing) => {
      const taker = takers.shift();
      if (taker === undefined) things.push(thing);
      else taker(thing);
    },
    take: () =>
      things.length > 0
        ? Promise.resolve(things.shift()!)
        : new Promise((resolve) => takers.push(resolve)),
  };
}

function method(
  path: string,
  request: typeof JoinRequestSchema | typeof AgentReplySchema,
  response: typeof TicketSchema | typeof AgentCallSchema,
  isStream: boolean,
) {
  return {
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestDeserialize: (bytes: Buffer) => fromBinary(request, bytes),
    requestSerialize: () => Buffer.alloc(0),
    responseSerialize: (message: Message) => Buffer.from(toBinary(response, message as never)),
    responseDeserialize: () => null,
  };
}
