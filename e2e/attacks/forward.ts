import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A port that leads to another, as `ssh -L` makes one. */
export interface Forward {
	origin: string;
	port: number;
	close(): Promise<void>;
}

/** `sent` is told all that came from one client, when it goes. */
export async function startForward(
	to: number,
	sent: (text: string) => void = () => {},
): Promise<Forward> {
	const open = new Set<Socket>();
	const server = createServer((client) => {
		const proxy = connect(to, '127.0.0.1');
		let text = '';
		client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
		client.on('close', () => sent(text));
		for (const side of [client, proxy]) {
			open.add(side);
			side.on('close', () => open.delete(side));
			// 'close' follows.
			side.on('error', () => {});
		}
		client.on('close', () => proxy.destroy());
		proxy.on('close', () => client.destroySoon());
		client.pipe(proxy, { end: false });
		proxy.pipe(client, { end: false });
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	return {
		origin: `http://127.0.0.1:${port}`,
		port,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const side of open) side.destroy();
			}),
	};
}
