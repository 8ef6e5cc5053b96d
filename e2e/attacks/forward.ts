import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A port that leads to another, as `ssh -L` makes one. */
export interface Forward {
	origin: string;
	port: number;
	/** All that came from each client. */
	sent: string[];
	close(): Promise<void>;
}

export async function startForward(to: number): Promise<Forward> {
	const sent: string[] = [];
	const open = new Set<Socket>();
	const server = createServer((client) => {
		const proxy = connect(to, '127.0.0.1');
		const index = sent.push('') - 1;
		client.on('data', (chunk: Buffer) => (sent[index] += chunk.toString('latin1')));
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
		...{ port, sent },
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const side of open) side.destroy();
			}),
	};
}
