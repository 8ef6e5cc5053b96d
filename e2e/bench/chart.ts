import { median, type Report } from './report.ts';
import { round } from './table.ts';

const WIDTH = 460;
const HEIGHT = 320;
const MARGIN = { left: 56, right: 40, top: 48, bottom: 44 };

/** Cost against size, both by orders of magnitude; dashed is what grows as the size does. */
export function chart(series: Report['series']): string {
	const panels = Object.entries(series).map(([name, points], index) => {
		const medians = [...points].map(([size, values]) => [size, median(values)] as const);
		return `<g transform="translate(${index * WIDTH} 0)">${panel(name, medians)}</g>`;
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH * panels.length}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${panels.join('\n')}
</svg>
`;
}

function panel(name: string, points: (readonly [number, number])[]): string {
	const [first, last] = [points[0]!, points.at(-1)!];
	const costs = [...points.map(([, cost]) => cost), first[1] * (last[0] / first[0])];
	const x = scale([first[0], last[0]], [MARGIN.left, WIDTH - MARGIN.right]);
	const y = scale(
		[Math.min(...costs) / 1.3, Math.max(...costs) * 1.3],
		[HEIGHT - MARGIN.bottom, MARGIN.top],
	);
	const path = points.map(([size, cost]) => `${x(size)},${y(cost)}`).join(' ');
	const marks = points.map(
		([size, cost]) =>
			`<circle cx="${x(size)}" cy="${y(cost)}" r="4" fill="#2563a8"/>
<text x="${x(size)}" y="${y(cost) - 9}" text-anchor="middle">${round(cost)}</text>
<text x="${x(size)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle" fill="#555">${size.toLocaleString('en')}</text>`,
	);
	return `<text x="${MARGIN.left}" y="22" font-weight="600">${name}</text>
<line x1="${MARGIN.left - 16}" x2="${WIDTH - MARGIN.right + 16}" y1="${HEIGHT - MARGIN.bottom}" y2="${HEIGHT - MARGIN.bottom}" stroke="#999"/>
<line x1="${x(first[0])}" y1="${y(first[1])}" x2="${x(last[0])}" y2="${y(costs.at(-1)!)}" stroke="#999" stroke-dasharray="4 4"/>
<polyline points="${path}" fill="none" stroke="#2563a8" stroke-width="2"/>
${marks.join('\n')}`;
}

function scale([from, to]: [number, number], [start, end]: [number, number]) {
	const whole = Math.log(to / from) || 1;
	return (value: number) =>
		Number((start + ((end - start) * Math.log(value / from)) / whole).toFixed(1));
}
