import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

const MOST = 200;

/**
 * Keeps the connections that nobody has logged in on to a number. The oldest gives way: whoever
 * holds many of them open, without ever asking for anything, keeps nobody else out.
 */
export class Newcomers {
	#sockets = new Set<Duplex>();

	constructor(server: Server) {
		server.on('connection', (socket) => {
			this.#sockets.add(socket);
			socket.once('close', () => this.#sockets.delete(socket));
			if (this.#sockets.size > MOST) {
				const [oldest] = this.#sockets;
				this.#sockets.delete(oldest!);
				oldest!.destroy();
			}
		});
	}

	/** This one has logged in. */
	admit(socket: Duplex) {
		this.#sockets.delete(socket);
	}
}
