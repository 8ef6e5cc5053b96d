import { loggedOut, onlogin, protocols, tradeTicket } from './login.ts';
import type { ClientMessage, ServerMessage } from '../server/protocol.ts';

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 5_000;

/** Browser end of the wire: connects, connects again, delivers. What is said is others' business. */
export class Socket {
	state = $state<'connecting' | 'open' | 'lost' | 'locked'>('connecting');

	#url: string;
	#socket: WebSocket | undefined;
	#failures = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#onopen: () => void;
	#onmessage: (message: ServerMessage) => void;

	constructor(url: string, onopen: () => void, onmessage: (message: ServerMessage) => void) {
		this.#url = url;
		this.#onopen = onopen;
		this.#onmessage = onmessage;
	}

	/** Connects, and stays connected: at once when the network returns or the tab wakes. */
	async start() {
		await tradeTicket();
		this.#connect();
		const soon = () => this.state === 'lost' && this.#connect();
		onlogin(() => this.state !== 'open' && this.#connect());
		window.addEventListener('online', soon);
		document.addEventListener('visibilitychange', () => document.hidden || soon());
	}

	/** False when there is no connection; then the message was not sent. */
	send(message: ClientMessage): boolean {
		if (this.state !== 'open') return false;
		this.#socket!.send(JSON.stringify(message));
		return true;
	}

	#connect() {
		clearTimeout(this.#timer);
		this.#socket?.close();
		const socket = new WebSocket(this.#url, protocols());
		this.#socket = socket;

		socket.onopen = () => {
			this.#failures = 0;
			this.state = 'open';
			this.#onopen();
		};
		socket.onmessage = ({ data }) => this.#onmessage(JSON.parse(data as string) as ServerMessage);
		socket.onclose = () => {
			if (socket === this.#socket) this.#closed();
		};
	}

	#closed() {
		// A browser is not told why a socket was refused.
		if (this.state !== 'open') void this.#askWhy(this.#socket!);
		if (this.state !== 'locked') this.state = 'lost';
		const delay = Math.min(FIRST_DELAY_MS * 2 ** this.#failures++, LONGEST_DELAY_MS);
		this.#timer = setTimeout(() => this.#connect(), delay * (0.75 + Math.random() / 2));
	}

	/** One who is shut out knocks no more, until he has logged in. */
	async #askWhy(socket: WebSocket) {
		if (!(await loggedOut())) return;
		// It may have been let in meanwhile.
		if (this.state === 'open' || socket.readyState !== WebSocket.CLOSED) return;
		clearTimeout(this.#timer);
		this.state = 'locked';
	}
}
