import type { Server } from 'node:http';
import { createServer } from 'vite';

/** The subprotocol of Vite's own socket, which is not ours to answer. */
export const HMR_PROTOCOL = 'vite-hmr';

/** Answers requests with Vite's dev server instead of the built page. */
export async function devPage(server: Server) {
	const vite = await createServer({
		configFile: 'vite.config.ts',
		server: { middlewareMode: true, hmr: { server } },
	});
	return vite.middlewares;
}
