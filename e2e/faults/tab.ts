import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import type { Credentials } from '../login.ts';
import { applyEvent, type Conversation } from '../../server/conversation.ts';
import type {
	ClientMessage,
	Command,
	NumberedEvent,
	ServerMessage,
} from '../../server/protocol.ts';

/** A tab as far as the wire is concerned. */
export class Tab {
	/** Of each frame with events: when its first happened, on the proxy's clock, and its arrival. */
	frames: { at: number; arrived: number; bytes: number }[] = [];
	conversation: Conversation | undefined;
	/** The answers to its greetings. */
	greetings: ('welcome' | 'resumed')[] = [];
	/** It has heard anything. */
	greeted = false;
	seq = 0;
	gaps = 0;
	closed = false;
	#socket: WebSocket | undefined;
	#credentials: Credentials;
	#session: string;
	#epoch = '';
	#openBlock: Extract<NumberedEvent['event'], { type: 'text' }> | undefined;
	/** Whether it keeps a conversation, as a page does, or only counts. */
	#attentive: boolean;

	constructor(credentials: Credentials, session: string, attentive: boolean) {
		this.#credentials = credentials;
		this.#session = session;
		this.#attentive = attentive;
	}

	/** Connects and greets, as a page that has seen what this one has. */
	async open() {
		const { origin, protocols, headers } = this.#credentials;
		const socket = new WebSocket(origin.replace('http', 'ws'), protocols, { headers });
		this.#socket = socket;
		this.closed = false;
		socket.on('message', (data: Buffer) => this.#receive(data));
		socket.on('close', () => (this.closed = true));
		// 'close' follows.
		socket.on('error', () => {});
		await new Promise((resolve) => socket.once('open', resolve));
		this.greet();
	}

	greet() {
		const seen = this.#epoch === '' ? {} : { seen: { epoch: this.#epoch, after: this.seq } };
		this.#send({ type: 'hello', session: this.#session, ...seen });
	}

	/** Asks for everything anew. */
	greetAnew() {
		this.#send({ type: 'hello', session: this.#session });
	}

	prompt(text: string) {
		const command: Command = { type: 'prompt', text, images: [], when: 'steer' };
		this.#send({ type: 'command', id: randomUUID(), session: this.#session, command });
	}

	/** Reads no more: what comes stays in the buffers of the kernel, then of the proxy. */
	pause() {
		this.#socket!.pause();
	}

	resume() {
		this.#socket!.resume();
	}

	close() {
		this.#socket?.terminate();
	}

	#send(message: ClientMessage) {
		this.#socket!.send(JSON.stringify(message));
	}

	#receive(data: Buffer) {
		const arrived = performance.now();
		this.greeted = true;
		// A hundred tabs that each parse everything would measure themselves.
		const head = data.toString('utf8', 0, 200);
		const first = /^\{"type":"(?:events|text)",.*?"seq":(\d+),"at":([\d.]+)/.exec(head);
		if (first) this.frames.push({ at: Number(first[2]), arrived, bytes: data.length });
		if (!this.#attentive) return;

		const message = JSON.parse(data.toString()) as ServerMessage;
		if (message.type === 'welcome') {
			this.greetings.push('welcome');
			this.conversation = message.conversation;
			this.#epoch = message.epoch;
			this.seq = message.seq;
		} else if (message.type === 'events' || message.type === 'resumed') {
			if (message.type === 'resumed') this.greetings.push('resumed');
			for (const numbered of message.events) this.#apply(numbered);
		} else if (message.type === 'text') {
			const { seq, at, text } = message;
			this.#apply({ seq, at, event: { ...this.#openBlock!, text } });
		}
	}

	#apply({ seq, at, event }: NumberedEvent) {
		if (seq <= this.seq) return;
		if (seq > this.seq + 1) this.gaps++;
		this.seq = seq;
		if (event.type === 'text') this.#openBlock = event;
		applyEvent(this.conversation!, event, at);
	}
}
