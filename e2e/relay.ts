import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Random } from './faults/random.ts';

/** What of a link goes on until it is cut: so many bytes in one direction, or so long. */
interface Fate {
	direction: 'up' | 'down';
	bytes: number;
	lifeMs: number;
}

/**
 * A TCP relay before the proxy that cuts WebSocket connections for real: at a random byte of
 * either direction or after a random time, with a reset or an end, for both sides at once or for
 * the proxy later. The page and its files pass.
 */
export interface Relay {
	url: string;
	/** How many connections were cut, and of these how many before the handshake was through. */
	cuts: number;
	early: number;
	/** Cuts from now on, or lets everything pass, the open connections too. */
	cutting: boolean;
	/** Cuts every WebSocket now, as a network does that is gone. */
	cutAll(): void;
	close(): Promise<void>;
}

const LEAST_BYTES = 40;
const MOST_BYTES = 40_000;
const LEAST_LIFE_MS = 15;
const MOST_LIFE_MS = 1_500;
const LONGEST_HALF_OPEN_MS = 400;

/** `oncut` is called at each cut. */
export async function startRelay(
	port: number,
	random: Random,
	oncut: () => void = () => {},
): Promise<Relay> {
	const open = new Set<Socket>();
	const cuts = new Set<() => void>();

	const server = createServer((browser) => {
		const proxy = connect(port, '127.0.0.1');
		const fate: Fate = {
			direction: random.chance(0.75) ? 'down' : 'up',
			bytes: random.magnitude(LEAST_BYTES, MOST_BYTES),
			lifeMs: random.magnitude(LEAST_LIFE_MS, MOST_LIFE_MS),
		};
		let socket: boolean | undefined;
		let answered = false;
		let timer: NodeJS.Timeout | undefined;
		let dead = false;

		for (const side of [browser, proxy]) {
			open.add(side);
			side.setNoDelay(true);
			// A broken connection is what this is for; 'close' follows.
			side.on('error', () => {});
		}
		const finish = (side: Socket, reset: boolean) =>
			reset ? side.resetAndDestroy() : side.destroy();
		const cut = () => {
			if (dead || browser.destroyed) return;
			dead = true;
			clearTimeout(timer);
			relay.cuts++;
			if (!answered) relay.early++;
			finish(browser, random.chance(0.5));
			// A proxy may learn of it later than the browser.
			const halfOpen = random.chance(0.3) ? random.between(1, LONGEST_HALF_OPEN_MS) : 0;
			setTimeout(() => finish(proxy, random.chance(0.5)), halfOpen);
			oncut();
		};

		browser.on('close', () => {
			open.delete(browser);
			cuts.delete(cut);
			if (!dead) proxy.destroy();
		});
		proxy.on('close', () => {
			open.delete(proxy);
			browser.destroySoon();
		});

		const pump = (from: Socket, to: Socket, direction: Fate['direction']) =>
			from.on('data', (chunk: Buffer) => {
				if (dead) return;
				if (socket === undefined) {
					socket = /\r\nupgrade: websocket\r\n/i.test(chunk.toString('latin1'));
					if (socket) cuts.add(cut);
					if (socket) timer = setTimeout(() => relay.cutting && cut(), fate.lifeMs);
				}
				let part = chunk;
				if (socket && direction === fate.direction) {
					if (relay.cutting && chunk.length >= fate.bytes) part = chunk.subarray(0, fate.bytes);
					fate.bytes = Math.max(0, fate.bytes - part.length);
				}
				if (part.length < chunk.length) {
					// What was let through arrives; what follows never does.
					from.pause();
					to.write(part, cut);
				} else if (!to.write(part)) {
					from.pause();
					to.once('drain', () => from.resume());
				}
				if (direction === 'down') answered = true;
			});
		pump(browser, proxy, 'up');
		pump(proxy, browser, 'down');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

	const relay: Relay = {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		cuts: 0,
		early: 0,
		cutting: false,
		cutAll() {
			for (const cut of cuts) cut();
		},
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const side of open) side.destroy();
			}),
	};
	return relay;
}
