import type {
	ClientMessage,
	Command,
	CommandResult,
	ServerMessage,
} from '../../server/protocol.ts';

type Frame = Extract<ClientMessage, { type: 'command' }>;
type Reply = Extract<ServerMessage, { type: 'reply' }>;

/** Commands not yet acknowledged. They are sent again after a lost connection, under the same id. */
export class Outbox {
	#send: (frame: Frame) => void;
	#waiting = new Map<
		string,
		{ frame: Frame; resolve: (result: CommandResult) => void; reject: (error: Error) => void }
	>();

	constructor(send: (frame: Frame) => void) {
		this.#send = send;
	}

	/** Sends a command; resolves when the proxy says that it was taken, and rejects in its words. */
	ask(session: string, command: Command, id: string = crypto.randomUUID()): Promise<CommandResult> {
		return new Promise((resolve, reject) => {
			const frame: Frame = { type: 'command', id, session, command };
			this.#waiting.set(id, { frame, resolve, reject });
			this.#send(frame);
		});
	}

	receive(reply: Reply) {
		const waiting = this.#waiting.get(reply.id);
		this.#waiting.delete(reply.id);
		if (reply.ok) waiting?.resolve(reply.result);
		else waiting?.reject(new Error(reply.error));
	}

	/** Sends everything that is unacknowledged, oldest first. */
	resend() {
		for (const { frame } of this.#waiting.values()) this.#send(frame);
	}
}
