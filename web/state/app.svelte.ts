import type { ServerMessage, SessionSummary } from '../../server/protocol.ts';
import { Socket } from '../socket.svelte.ts';
import { Outbox } from './outbox.ts';
import { Session } from './session.svelte.ts';

const CLOCK_DELAYS_MS = [50, 250, 1_000];

/** What the page knows: the connection, the session that is open, and which others there are. */
export class App {
	socket: Socket;
	session = $state.raw() as Session;
	sessions = $state.raw<SessionSummary[]>([]);

	#outbox: Outbox;

	constructor(url: string) {
		this.#outbox = new Outbox((frame) => void this.socket.send(frame));
		this.socket = new Socket(
			url,
			() => this.#greet(),
			(message) => this.#receive(message),
		);
		this.session = this.#make(addressedSession());
	}

	start() {
		void this.socket.start();
		window.addEventListener('popstate', () => this.#show(addressedSession()));
	}

	/** Opens a session, or a new one. */
	open(id: string | null) {
		history.pushState(null, '', id === null ? '/' : address(id));
		this.#show(id);
	}

	/** Gives the open session its address, once there is something to come back to. */
	address() {
		const { id } = this.session;
		if (id !== null && addressedSession() !== id) history.replaceState(null, '', address(id));
	}

	list() {
		this.socket.send({ type: 'list' });
	}

	#show(id: string | null) {
		this.session = this.#make(id);
		this.#hello();
	}

	#make(id: string | null) {
		const session: Session = new Session(
			this.#outbox,
			id,
			() => this.#hello(),
			(before) => this.socket.send({ type: 'earlier', session: session.id!, before }),
		);
		return session;
	}

	#greet() {
		this.#hello();
		this.#outbox.resend();
		this.#askClock();
		this.list();
	}

	/** The proxy's clock, several times: the answer that travelled fastest is the truest. */
	#askClock() {
		for (const delay of CLOCK_DELAYS_MS) {
			setTimeout(() => this.socket.send({ type: 'clock' }), delay);
		}
	}

	#hello() {
		const { id, seen } = this.session;
		this.socket.send({ type: 'hello', session: id ?? 'new', ...(seen ? { seen } : {}) });
	}

	#receive(message: ServerMessage) {
		const { session } = this;
		switch (message.type) {
			case 'welcome':
				if (session.id === null || session.id === message.session) session.welcome(message);
				return;
			case 'resumed':
				if (session.id === message.session) session.resume(message);
				return;
			case 'events':
				if (session.id === message.session) session.receive(message);
				return;
			case 'text':
				return session.receiveText(message);
			case 'earlier':
				if (session.id === message.session) session.receiveEarlier(message);
				return;
			case 'refused':
				if ((session.id ?? 'new') === message.session) session.refused = message.error;
				return;
			case 'reply':
				return this.#outbox.receive(message);
			case 'clock':
				return session.seeClock(message.now);
			case 'sessions':
				this.sessions = message.sessions;
				return;
			case 'bad_frame':
				session.complaint = message.error;
				return;
			default:
				message satisfies never;
		}
	}
}

const addressedSession = () => new URLSearchParams(location.search).get('session');
const address = (id: string) => `/?session=${encodeURIComponent(id)}`;
