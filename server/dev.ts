import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'vite';
import type { Gate } from './gate.ts';

/** The subprotocol of Vite's own socket, which is not ours to answer. */
export const HMR_PROTOCOL = 'vite-hmr';

/** Answers requests with Vite's dev server instead of the built page; behind the same gate. */
export async function devPage(gate: Gate, server: Server) {
	const vite = await createServer({
		configFile: 'vite.config.ts',
		server: { middlewareMode: true, hmr: { server } },
	});

	return (request: IncomingMessage, response: ServerResponse) => {
		const refusal = gate.refuse(request);
		if (refusal) response.writeHead(refusal.status).end(refusal.message);
		else vite.middlewares(request, response);
	};
}
