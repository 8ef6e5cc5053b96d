import type { WebSocket } from 'ws';
import type { Hub } from './hub.ts';
import { parseClientMessage } from './protocol.ts';
import type { ClientMessage, ServerMessage } from './protocol.ts';
import type { Session, Watcher } from './session.ts';

/** What a browser may leave unread before it is cut off. It comes back and gets a snapshot. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;

/** A browser that sends only what is not understood is not one of ours. */
const MAX_BAD_FRAMES = 100;

/** One browser. Knows how to talk to it; what to say is the session's business. */
export class Connection implements Watcher {
	#socket: WebSocket;
	#hub: Hub;
	#watched: Session | undefined;
	#badFrames = 0;

	constructor(socket: WebSocket, hub: Hub) {
		this.#socket = socket;
		this.#hub = hub;

		socket.on('message', (data, binary) => this.#receive(binary ? '' : String(data as Buffer)));
		socket.on('close', () => this.#watched?.leave(this));
		// ws closes the socket itself, but an 'error' nobody hears ends the process.
		socket.on('error', (error) => console.error(`Browser dropped: ${error.message}`));
	}

	send(message: ServerMessage) {
		// A browser that stops reading would otherwise hold every frame in our memory.
		if (this.#socket.bufferedAmount > MAX_BACKLOG_BYTES) return this.#socket.terminate();
		this.#socket.send(JSON.stringify(message));
	}

	#receive(data: string) {
		if (this.#badFrames > MAX_BAD_FRAMES) return;
		let message: ClientMessage;
		try {
			message = parseClientMessage(data);
		} catch (error) {
			if (++this.#badFrames > MAX_BAD_FRAMES) return this.#socket.close(1008, 'Not understood');
			return this.send({ type: 'bad_frame', error: (error as Error).message });
		}
		switch (message.type) {
			case 'hello':
				return void this.#watch(message);
			case 'command':
				return void this.#run(message);
			case 'earlier':
				// Another session may have taken its place since: then nobody waits for an answer.
				if (this.#watched?.id !== message.session) return;
				return this.#watched.sendEarlier(this, message.before);
			case 'clock':
				return this.send({ type: 'clock', now: performance.now() });
			case 'list':
				return void this.#hub
					.list()
					.then((sessions) => this.send({ type: 'sessions', sessions }))
					.catch((error: unknown) => console.error('The sessions could not be listed:', error));
			default:
				message satisfies never;
		}
	}

	async #watch({ session: id, seen }: Extract<ClientMessage, { type: 'hello' }>) {
		try {
			const session = await (id === 'new'
				? this.#hub.fresh()
				: this.#hub.open(id, seen !== undefined));
			this.#watched?.leave(this);
			this.#watched = undefined;
			if (this.#socket.readyState !== this.#socket.OPEN) return;
			this.#watched = session;
			session.watch(this, seen);
		} catch (error) {
			this.send({ type: 'refused', session: id, error: (error as Error).message });
		}
	}

	async #run({ id, session: sessionId, command }: Extract<ClientMessage, { type: 'command' }>) {
		try {
			const session = await this.#hub.find(sessionId);
			if (!session) throw new Error('This session is not open any more. Reload the page.');
			const result = await session.run(command, id);
			this.send({ type: 'reply', id, ok: true, result });
		} catch (error) {
			this.send({ type: 'reply', id, ok: false, error: (error as Error).message });
		}
	}
}
