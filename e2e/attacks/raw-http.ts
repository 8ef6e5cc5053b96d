import { connect } from 'node:net';
import type { Credentials } from '../login.ts';

/** A request as it is written, so that it can be what no client would send. */
export interface Knock {
	line: string;
	headers: [name: string, value: string][];
	body: string;
}

export interface Answer {
	/** 0 when the connection was closed without one. */
	status: number;
	text: string;
}

/** Opens the socket, as the page does. */
export const upgrade = ({ origin, cookie, protocols }: Credentials): Knock => ({
	line: 'GET / HTTP/1.1',
	headers: [
		['Host', new URL(origin).host],
		['Connection', 'Upgrade'],
		['Upgrade', 'websocket'],
		['Sec-WebSocket-Version', '13'],
		['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
		['Sec-WebSocket-Protocol', protocols.join(', ')],
		['Origin', origin],
		['Cookie', cookie],
	],
	body: '',
});

/** Asks the API for something, as the page does. */
export const post = (path: string, { origin, cookie, key }: Credentials, body = ''): Knock => ({
	line: `POST ${path} HTTP/1.1`,
	headers: [
		['Host', new URL(origin).host],
		['Connection', 'close'],
		['Content-Length', String(Buffer.byteLength(body))],
		['Origin', origin],
		['Cookie', cookie],
		['Authorization', `Bearer ${key}`],
	],
	body,
});

/** The same with another value of a header, with several, or without it. */
export const change = (knock: Knock, name: string, ...values: string[]): Knock => ({
	...knock,
	headers: [
		...values.map((value): [string, string] => [name, value]),
		...knock.headers.filter(([one]) => one !== name),
	],
});

/** Sends it, and reads the answer to its end; of a socket that was opened, to the end of its head. */
export function send(port: number, { line, headers, body }: Knock): Promise<Answer> {
	const head = [line, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
	return new Promise((resolve) => {
		let text = '';
		const status = () => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
		const socket = connect(port, '127.0.0.1', () => socket.write(head + body));
		socket.on('data', (chunk: Buffer) => {
			text += chunk.toString('latin1');
			if (status() === 101 && text.includes('\r\n\r\n')) socket.destroy();
		});
		// 'close' follows.
		socket.on('error', () => {});
		socket.on('close', () => resolve({ status: status(), text }));
	});
}

/** Whether a log-in is still good. */
export async function good(port: number, credentials: Credentials): Promise<boolean> {
	return (await send(port, post('/api/login', credentials, '{}'))).status === 200;
}
