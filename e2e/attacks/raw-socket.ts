import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Credentials } from '../login.ts';
import { upgrade } from './raw-http.ts';

export const TEXT = 0x1;
export const BINARY = 0x2;
export const GOES_ON = 0x0;
export const PING = 0x9;

export interface FrameOptions {
	last?: boolean;
	masked?: boolean;
	/** Bits that an extension would set. */
	reserved?: number;
	/** What its head says that it is long, when that is not true. */
	length?: number;
}

/** A frame as it is sent, right or wrong. */
export function frame(
	opcode: number,
	payload: string | Buffer,
	{ last = true, masked = true, reserved = 0, length }: FrameOptions = {},
): Buffer {
	const data = Buffer.from(payload);
	const size = length ?? data.length;
	const first = (last ? 0x80 : 0) | (reserved << 4) | opcode;
	const bit = masked ? 0x80 : 0;
	const head =
		size < 126
			? Buffer.from([first, bit | size])
			: size < 65_536
				? Buffer.from([first, bit | 126, size >> 8, size & 0xff])
				: Buffer.concat([Buffer.from([first, bit | 127]), Buffer.alloc(8)]);
	if (size >= 65_536) head.writeBigUInt64BE(BigInt(size), 2);
	if (!masked) return Buffer.concat([head, data]);
	const mask = randomBytes(4);
	return Buffer.concat([head, mask, data.map((byte, index) => byte ^ mask[index % 4]!)]);
}

/** A browser's end of a WebSocket, written by hand, so that it can break every rule. */
export class RawSocket {
	/** What was answered: the type of each message, or "close" with its code. */
	answers: string[] = [];
	/** The text of the last complaint. */
	complaint = '';
	closed: Promise<void>;
	#socket: Socket;
	#buffer = Buffer.alloc(0);
	#watchers = new Set<() => void>();

	private constructor(socket: Socket) {
		this.#socket = socket;
		this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
		void this.closed.then(() => this.#changed());
		// 'close' follows.
		socket.on('error', () => {});
	}

	static open(port: number, credentials: Credentials): Promise<RawSocket> {
		const { line, headers } = upgrade(credentials);
		const socket = connect(port, '127.0.0.1');
		const opened = new RawSocket(socket);
		socket.write(
			[line, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n'),
		);
		return new Promise((resolve, reject) => {
			let head = '';
			const read = (chunk: Buffer) => {
				head += chunk.toString('latin1');
				const end = head.indexOf('\r\n\r\n');
				if (end < 0) return;
				socket.off('data', read);
				if (!head.startsWith('HTTP/1.1 101')) return reject(new Error(head.slice(0, 100)));
				socket.on('data', (chunk: Buffer) => opened.#receive(chunk));
				opened.#receive(Buffer.from(head.slice(end + 4), 'latin1'));
				resolve(opened);
			};
			socket.on('data', read);
		});
	}

	send(...frames: Buffer[]) {
		for (const one of frames) this.#socket.write(one);
	}

	/** Waits until something was answered that passes, or the connection has ended. */
	answered(test: (answers: string[]) => boolean): Promise<void> {
		return new Promise((resolve) => {
			const look = () => {
				if (!test(this.answers) && !this.#socket.closed) return;
				this.#watchers.delete(look);
				resolve();
			};
			this.#watchers.add(look);
			look();
		});
	}

	get gone() {
		return this.#socket.closed;
	}

	end() {
		this.#socket.destroy();
	}

	#receive(chunk: Buffer) {
		this.#buffer = Buffer.concat([this.#buffer, chunk]);
		for (;;) {
			if (this.#buffer.length < 2) break;
			const short = this.#buffer[1]! & 0x7f;
			const head = short < 126 ? 2 : short === 126 ? 4 : 10;
			if (this.#buffer.length < head) break;
			const size =
				short < 126
					? short
					: short === 126
						? this.#buffer.readUInt16BE(2)
						: Number(this.#buffer.readBigUInt64BE(2));
			if (this.#buffer.length < head + size) break;
			const data = this.#buffer.subarray(head, head + size);
			this.#read(this.#buffer[0]! & 0x0f, data);
			this.#buffer = this.#buffer.subarray(head + size);
		}
		this.#changed();
	}

	#read(opcode: number, data: Buffer) {
		if (opcode === 0x8) {
			this.answers.push(`close ${data.length >= 2 ? data.readUInt16BE(0) : ''}`.trim());
			// A browser says goodbye as well.
			this.send(frame(0x8, data.subarray(0, 2)));
		} else if (opcode === TEXT) {
			const message = JSON.parse(data.toString()) as { type: string; error?: string };
			this.answers.push(message.type);
			if (message.type === 'bad_frame') this.complaint = message.error!;
		} else if (opcode === 0xa) this.answers.push('pong');
	}

	#changed() {
		for (const look of this.#watchers) look();
	}
}
