//! What a graph of subschemas would cost, found without running it.

use super::error::SchemaError;
use super::graph::{Node, NodeId};
use super::limits;

/// Ways through the resources that visit none twice: each is a dynamic scope that the library compiles apart. Counted
/// no further than [`limits::MAX_COMPILED`].
pub(super) fn scope_paths(crossings: &[(usize, usize)], resources: usize) -> usize {
    fn follow(at: usize, crossings: &[(usize, usize)], seen: &mut Vec<bool>, count: &mut usize) {
        *count += 1;
        for &(_, to) in crossings.iter().filter(|(from, _)| *from == at) {
            if *count > limits::MAX_COMPILED {
                return;
            }
            if seen.get(to) == Some(&false) {
                if let Some(flag) = seen.get_mut(to) {
                    *flag = true;
                }
                follow(to, crossings, seen, count);
                if let Some(flag) = seen.get_mut(to) {
                    *flag = false;
                }
            }
        }
    }
    let mut count = 1;
    for start in 0..resources {
        let mut seen = vec![false; resources];
        if let Some(flag) = seen.get_mut(start) {
            *flag = true;
        }
        follow(start, crossings, &mut seen, &mut count);
    }
    count
}

/// The longest in-place chain. One that comes back to itself would apply for ever to one and the same value, and one
/// that branches at every step would apply more often than can be afforded even once.
pub(super) fn longest_chain(nodes: &[Node]) -> Result<usize, SchemaError> {
    const NEW: usize = usize::MAX;
    const OPEN: usize = usize::MAX - 1;
    let mut lengths = vec![NEW; nodes.len()];
    // How often subschemas are applied to one value, starting from each.
    let mut applications = vec![1_u64; nodes.len()];
    let mut longest = 0;
    for start in 0..nodes.len() {
        // Each entry: a node and those it applies in place that are still to be looked at.
        let mut stack: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        let mut next = Some(start);
        loop {
            if let Some(id) = next.take() {
                let (Some(length), Some(node)) = (lengths.get_mut(id), nodes.get(id)) else { continue };
                match *length {
                    OPEN => {
                        return Err(SchemaError::new(
                            node.at.as_str(),
                            "this subschema refers back to itself without going down into a property or an item, so it could never be decided",
                        ));
                    }
                    NEW => {
                        *length = OPEN;
                        stack.push((id, node.in_place().collect()));
                    }
                    _ => {}
                }
            }
            let Some((id, rest)) = stack.last_mut() else { break };
            next = rest.pop();
            if next.is_none() {
                let below =
                    nodes.get(*id).into_iter().flat_map(Node::in_place).filter_map(|child| lengths.get(child)).max();
                let length = below.map_or(1, |below| below + 1);
                if length > limits::MAX_CHAIN {
                    let at = nodes.get(*id).map_or("", |node| node.at.as_str());
                    return Err(SchemaError::new(
                        at,
                        format!(
                            "more than {} nested `$ref`, `allOf`, `anyOf` or the like apply to one value",
                            limits::MAX_CHAIN
                        ),
                    ));
                }
                let applied = nodes
                    .get(*id)
                    .into_iter()
                    .flat_map(Node::in_place)
                    .filter_map(|child| applications.get(child))
                    .fold(1_u64, |sum, count| sum.saturating_add(*count));
                if applied > limits::MAX_APPLICATIONS {
                    let at = nodes.get(*id).map_or("", |node| node.at.as_str());
                    return Err(SchemaError::new(
                        at,
                        format!(
                            "its `$ref`, `allOf`, `anyOf` and the like multiply to more than {} for one value; list each \
                             alternative once",
                            limits::MAX_APPLICATIONS
                        ),
                    ));
                }
                if let Some(slot) = applications.get_mut(*id) {
                    *slot = applied;
                }
                longest = longest.max(length);
                if let Some(slot) = lengths.get_mut(*id) {
                    *slot = length;
                }
                stack.pop();
            }
        }
    }
    Ok(longest)
}
